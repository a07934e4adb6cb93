"""What tests of writing to S3 share: buckets seen through boto3, and a proxy that spoils requests."""
import contextlib
import functools
import threading
import uuid

import pytest
from conftest import tree_bytes
from remote_support import moto, remote  # noqa: F401
from servers.network import free_port
from servers.process import running
from servers.s3 import KEY_ID, SECRET, Rclone
from servers.store_proxy import StoreProxy


@functools.cache
def client(url):
    import boto3
    from botocore.config import Config
    return boto3.client("s3", endpoint_url=url, aws_access_key_id=KEY_ID, aws_secret_access_key=SECRET, region_name="us-east-1",
                        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, proxies={}))


class Prefix:
    """A place of its own in a bucket, and bale that writes there through a StoreProxy."""

    def __init__(self, run, server, proxy, key):
        self.run, self.server, self.proxy, self.key = run, server, proxy, key
        self.client = client(server.url)
        self.into(server.BUCKET)

    def into(self, bucket):
        """Is in this bucket from now on."""
        self.bucket, self.name = bucket, f"s3://{bucket}/{self.key}"

    def ok(self, *args, **kwargs):
        return self.run.ok(*args, **kwargs)

    def names(self):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.key + "/")
        return [entry["Key"][len(self.key) + 1:] for page in pages for entry in page.get("Contents", [])]

    def objects(self):
        """{name: content} of all objects below."""
        return {name: self.get(name) for name in self.names()}

    def get(self, name):
        return self.client.get_object(Bucket=self.bucket, Key=f"{self.key}/{name}")["Body"].read()

    def put(self, name, content, **more):
        self.client.put_object(Bucket=self.bucket, Key=f"{self.key}/{name}", Body=content, **more)

    def remove(self, name):
        self.client.delete_object(Bucket=self.bucket, Key=f"{self.key}/{name}")

    def dangling(self):
        """Uploads that were begun and neither completed nor aborted, as the server lists them."""
        try:
            found = self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])
        except self.client.exceptions.ClientError as error:  # rclone's answer if there are none
            assert error.response["Error"]["Code"] == "NoSuchUpload"
            return []
        return [upload["Key"] for upload in found if upload["Key"].startswith(self.key + "/")]


def words(change, name):
    return [change[0], name, *change[1:]]


def store(place, folder):
    for name, content in tree_bytes(folder).items():
        place.put(name, content)
    for name in set(place.names()) - set(tree_bytes(folder)):
        place.remove(name)


@contextlib.contextmanager
def prefix_in(run, server, key=None):
    with StoreProxy(server) as proxy:
        run.env |= proxy.env
        yield Prefix(run, server, proxy, key or f"t-{uuid.uuid4().hex}/packed")


def blocked(place, *what):
    """Events: the first request that fits has come; it may continue."""
    came, go = threading.Event(), threading.Event()

    def before(_):
        came.set()
        assert go.wait(60)
    place.proxy.add(*what, before=before)
    return came, go


@pytest.fixture(scope="module")
def rclone_store(tmp_path_factory):
    """rclone's server, to be written to by requests only."""
    home = tmp_path_factory.mktemp("rclone")
    server = Rclone(free_port(), home / "buckets", sees_folder=False)
    with running(home / "log", server.port, command=server.command):
        yield server


@pytest.fixture(params=["rclone_store", "moto"])
def place(request, remote):  # noqa: F811
    with prefix_in(remote, request.getfixturevalue(request.param)) as prefix:
        yield prefix


@pytest.fixture
def moto_place(remote, moto):  # noqa: F811
    """In a server that has conditions."""
    with prefix_in(remote, moto) as prefix:
        yield prefix


@pytest.fixture
def rclone_place(remote, rclone_store):  # noqa: F811
    """In a server that checks signatures and MD5."""
    with prefix_in(remote, rclone_store) as prefix:
        yield prefix
