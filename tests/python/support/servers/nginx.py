"""nginx (Debian's nginx-light): HTTP, and HTTP/2 with TLS."""
import contextlib
import pathlib
import subprocess

from servers.network import free_port
from servers.process import program, running


def make_certificates(folder):
    """ca.pem, and server.pem with server.key that it vouches for: localhost and 127.0.0.1."""
    def request(name, subject, *more):
        subprocess.run([program("openssl", "apt-get install openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", f"/CN={subject}", "-keyout",
                        f"{name}.key", "-out", f"{name}.pem", *more], cwd=folder, check=True, capture_output=True)
    request("ca", "CA of bale's tests")
    request("server", "localhost", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")


class Nginx:
    """url and tls_url serve the folder, the latter by HTTP/2; under /private/ for USER and PASSWORD only."""

    USER, PASSWORD = "ann", "PasswordOfBaleTests"

    def __init__(self, home, folder):
        self.home, self.folder, self.port, self.tls_port = pathlib.Path(home), folder, free_port(), free_port()
        self.url, self.tls_url = f"http://127.0.0.1:{self.port}", f"https://localhost:{self.tls_port}"
        self.authority = self.home / "ca.pem"
        make_certificates(self.home)
        (self.home / "users").write_text(f"{self.USER}:{{PLAIN}}{self.PASSWORD}\n")
        (self.home / "nginx.conf").write_text(self._settings())
        self.command = [program("nginx", "apt-get install nginx-light"), "-p", str(self.home), "-c",
                        str(self.home / "nginx.conf"), "-e", str(self.home / "error.log")]

    def _settings(self):
        temporary = "".join(f"{name}_temp_path {self.home}/tmp-{name};\n"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""daemon off; master_process off; pid {self.home}/pid; error_log {self.home}/error.log;
            events {{ worker_connections 512; }}
            http {{
                {temporary}
                log_format asked '$request_method $status $body_bytes_sent $connection $server_protocol $uri';
                access_log {self.home}/access.log asked;
                types {{ }} default_type application/octet-stream; sendfile on; max_ranges 1; keepalive_requests 100000;
                server {{
                    listen 127.0.0.1:{self.port}; listen 127.0.0.1:{self.tls_port} ssl http2;
                    ssl_certificate {self.home}/server.pem; ssl_certificate_key {self.home}/server.key;
                    root "{self.folder}";
                    location /private/ {{
                        auth_basic private; auth_basic_user_file {self.home}/users; alias "{self.folder}/";
                    }}
                }}
            }}"""

    def asked(self):
        """[(method, status, bytes of the body, connection, protocol, path)], of what has ended."""
        lines = (self.home / "access.log").read_text().splitlines()
        return [(m, int(status), int(sent), *more) for m, status, sent, *more in (line.split(" ", 5) for line in lines)]


@contextlib.contextmanager
def running_nginx(home, folder):
    nginx = Nginx(home, folder)
    with running(nginx.home / "out.log", nginx.port, nginx.tls_port, command=nginx.command):
        yield nginx
