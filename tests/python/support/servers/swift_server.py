"""A Swift cluster of one process: proxy with s3api and tempauth, account, container and object server. Debian's python3-swift and
its Python run it: /usr/bin/python3 swift_server.py HOME PORT SECRET"""
import eventlet

eventlet.monkey_patch()

import pathlib  # noqa: E402
import sys  # noqa: E402

import eventlet.wsgi  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.storage_policy import reload_storage_policies  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402

BACKENDS = {"account": "swift#account", "container": "swift#container", "object": "swift#mem_object"}
PROXY = """
[DEFAULT]
swift_dir = {home}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
allow_multipart_uploads = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
"""
BACKEND = """
[DEFAULT]
swift_dir = {home}
devices = {home}/devices
mount_check = false
[pipeline:main]
pipeline = app
[app:app]
use = egg:{egg}
"""


def make_ring(home, kind, port):
    ring = RingBuilder(2, 1, 0)
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1", "port": port, "device": "d1", "meta": "",
                  "replication_ip": "127.0.0.1", "replication_port": port})
    ring.rebalance(seed=1)
    ring.get_ring().save(str(home / f"{kind}.ring.gz"))


def main(home, port, secret):
    home = pathlib.Path(home)
    (home / "devices" / "d1").mkdir(parents=True)
    (home / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = bale\nswift_hash_path_prefix = bale\n")
    utils.SWIFT_CONF_FILE = str(home / "swift.conf")
    utils.validate_hash_conf()
    reload_storage_policies()
    for kind, egg in BACKENDS.items():
        socket = eventlet.listen(("127.0.0.1", 0))
        make_ring(home, kind, socket.getsockname()[1])
        conf = home / f"{kind}.conf"
        conf.write_text(BACKEND.format(home=home, egg=egg))
        eventlet.spawn(eventlet.wsgi.server, socket, loadapp(str(conf)), log_output=False)
    conf = home / "proxy.conf"
    conf.write_text(PROXY.format(home=home, secret=secret))
    eventlet.wsgi.server(eventlet.listen(("127.0.0.1", int(port))), loadapp(str(conf)), log_output=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
