"""OpenStack Swift with its S3 middleware: Debian's python3-swift, which Debian's Python runs."""
import pathlib
import subprocess

import boto3
import botocore.config

from servers.s3 import S3

PYTHON = "/usr/bin/python3"
USER, SECRET = "test:tester", "SecretOfTheTester0123456789"


def is_installed():
    return pathlib.Path(PYTHON).exists() and subprocess.run([PYTHON, "-c", "import swift"], capture_output=True).returncode == 0


class Swift(S3):
    """Checks signatures; has conditions."""

    def __init__(self, port, home):
        super().__init__(port)
        self.env |= {"AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": SECRET}
        self.command = [PYTHON, "-I", str(pathlib.Path(__file__).with_name("swift_server.py")), str(home), str(port), SECRET]
        self.client = boto3.client("s3", endpoint_url=self.url, aws_access_key_id=USER, aws_secret_access_key=SECRET,
                                   region_name="us-east-1", config=botocore.config.Config(proxies={}))

    def make_bucket(self):
        self.client.create_bucket(Bucket=self.BUCKET)

    def put(self, key, content):
        self.client.put_object(Bucket=self.BUCKET, Key=key, Body=content)
