"""A server that speaks the protocol of the Hugging Face Hub."""
import json
import re
import urllib.parse

from servers.fault_server import FaultServer


class Hub:
    """What hf:// names reach: a hub that asks for a token, lists folders page by page, sends JSON files itself and all others
    from another host. The data set is OWNER/NAME, with the revisions main, v1 and a few with slashes."""

    OWNER, NAME, TOKEN, PAGE = "some-owner", "some.name", "hf_TokenOfBaleTests", 3

    def __init__(self, folder):
        self.hub, self.cdn = FaultServer(folder), FaultServer(folder, host="localhost")
        self.hub.token, self.hub.router = self.TOKEN, self._route
        self.env = {"HF_ENDPOINT": self.hub.url, "HF_TOKEN": self.TOKEN}

    def close(self):
        self.hub.close()
        self.cdn.close()

    def _route(self, request):
        dataset = re.escape(f"{self.OWNER}/{self.NAME}")
        revisions = "main|v1|refs/convert/parquet|refs/pr/1|some/branch"
        match = re.fullmatch(rf"/(?:api/)?datasets/{dataset}/(resolve|tree)/({revisions})/?(.*)", request.path)
        if not match:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"Repository not found\n"
        kind, _, path = match.groups()
        file = self.hub.folder / path
        if not (file.is_dir() if kind == "tree" else file.is_file()):
            return 404, {"X-Error-Code": "EntryNotFound"}, b"Entry not found\n"
        if kind == "tree":
            return self._tree(request, file)
        if file.suffix == ".json":
            return "/" + path
        _, etag, _ = self.hub.content("/" + path)
        return 302, {"Location": f"{self.cdn.url}/{urllib.parse.quote(path)}", "X-Linked-ETag": etag,
                     "X-Linked-Size": file.stat().st_size, "X-Repo-Commit": "0" * 40}, b""

    def _tree(self, request, folder):
        entries = [{"type": "directory" if path.is_dir() else "file", "oid": "0" * 40, "size": path.stat().st_size,
                    "path": str(path.relative_to(self.hub.folder))} for path in sorted(folder.iterdir())]
        begin = int(urllib.parse.parse_qs(request.query).get("cursor", ["0"])[0])
        end = begin + self.PAGE
        target = self.hub.url + urllib.parse.quote(request.path)
        link = {"Link": f'<{target}?cursor={end}>; rel="next"'} if end < len(entries) else {}
        return 200, {"Content-Type": "application/json", **link}, json.dumps(entries[begin:end]).encode()
