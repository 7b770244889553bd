# SPDX-License-Identifier: Apache-2.0
"""python_client_test.py PROTO_DIR HOST:PORT: a client made from the protos alone. Exit code 77: not possible here."""

import shutil
import subprocess
import sys
import tempfile

try:
    import grpc
except ImportError as error:
    print(f"python3-grpcio is needed: {error}", file=sys.stderr)
    sys.exit(77)
plugin = shutil.which("grpc_python_plugin")
if plugin is None:
    print("grpc_python_plugin of protobuf-compiler-grpc is needed", file=sys.stderr)
    sys.exit(77)

proto_dir, server = sys.argv[1:]
generated = tempfile.TemporaryDirectory()
protos = [f"coffer/v1/{name}_service.proto" for name in ("blob", "reference", "admin")]
subprocess.run(["protoc", f"-I{proto_dir}", f"--python_out={generated.name}", f"--grpc_out={generated.name}",
                f"--plugin=protoc-gen-grpc={plugin}", *protos], check=True)
sys.path.insert(0, generated.name)

from coffer.v1 import admin_service_pb2, admin_service_pb2_grpc  # noqa: E402
from coffer.v1 import blob_service_pb2, blob_service_pb2_grpc  # noqa: E402
from coffer.v1 import reference_service_pb2, reference_service_pb2_grpc  # noqa: E402

channel = grpc.insecure_channel(server)
blobs = blob_service_pb2_grpc.BlobServiceStub(channel)
references = reference_service_pb2_grpc.ReferenceServiceStub(channel)
admin = admin_service_pb2_grpc.AdminServiceStub(channel)

content = b"hello from python"
put = blobs.Put(iter([
    blob_service_pb2.PutRequest(header=blob_service_pb2.PutHeader(name="from python", size_bytes=len(content))),
    blob_service_pb2.PutRequest(data=content[:5]),
    blob_service_pb2.PutRequest(data=content[5:]),
]))
assert put.size_bytes == len(content) and put.name == "from python", put

selector = blob_service_pb2.BlobSelector(digest=put.digest)
messages = list(blobs.Get(blob_service_pb2.GetRequest(blob=selector)))
assert messages[0].header.digest == put.digest
assert b"".join(message.data for message in messages[1:]) == content

listed = references.List(reference_service_pb2.ListRequest()).references
assert [(one.name, one.digest) for one in listed] == [("from python", put.digest)], listed
assert admin.Status(admin_service_pb2.StatusRequest()).blobs == 1

try:
    list(blobs.Get(blob_service_pb2.GetRequest(blob=blob_service_pb2.BlobSelector(name="missing"))))
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.NOT_FOUND, error
else:
    raise AssertionError("a missing name was found")
