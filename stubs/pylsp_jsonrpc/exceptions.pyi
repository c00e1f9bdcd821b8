class JsonRpcException(Exception):
    message: str
    code: int
    data: object
    def __init__(self, message: str | None = None, code: int | None = None, data: object = None) -> None: ...

class JsonRpcInvalidParams(JsonRpcException): ...
