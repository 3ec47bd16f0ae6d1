"""Values of every scalar type, lists and vectors, with the texts that break careless writers of CSV."""

from typing import Any

SCHEMA = """node Every {
  key: String @key
  text: String?
  flag: Bool?
  i32: I32?
  i64: I64?
  u32: U32?
  u64: U64?
  f32: F32?
  f64: F64?
  time: DateTime?
  day: Date?
  blob: Blob?
  vector: Vector(3)?
  texts: [String]?
  flags: [Bool]?
  i32s: [I32]?
  i64s: [I64]?
  u32s: [U32]?
  u64s: [U64]?
  f32s: [F32]?
  f64s: [F64]?
  times: [DateTime]?
  days: [Date]?
}

node Plain {
  number: I32
}

node Empty {
  name: String @key
}

edge Link: Every -> Every {
  note: String?
}

edge Every: Every -> Plain {
}
"""

AWKWARD = 'q,"x"\r\n y '


def _every(key: str, **data: Any) -> dict[str, Any]:
    return {"type": "Every", "data": {"key": key, **data}}


def _edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


ROWS = [
    _every("null"),
    _every(
        AWKWARD,
        text='a "b", c\nd',
        flag=True,
        i32=-(2**31),
        i64=-(2**63),
        u32=2**32 - 1,
        u64=2**64 - 1,
        f32=0.1,
        f64=1e-300,
        time="0001-01-01T00:00:00.000Z",
        day="0001-01-01",
        blob="base64:AAEC",
        vector=[1, 2.5, -0.0],
        texts=["a,b", '"', "", "\n", "ü"],
        flags=[True, False],
        i32s=[1],
        i64s=[2**63 - 1],
        u32s=[0],
        u64s=[2**64 - 1],
        f32s=[0.1, 16777216.0],
        f64s=[1e300],
        times=["2020-01-01T12:34:56.789Z"],
        days=["9999-12-31"],
    ),
    _every("empty", text="", texts=[], days=[], blob="base64:"),
    _every(" spaces ", text=" lead\t", time="9999-12-31T23:59:59.999Z", day="9999-12-31", f32=16777216.0, f64=-0.0),
    _every("NULL", text="NULL"),
    _every("true", text="true"),
    _every("007", text="1e5"),
    _every("[]", text="[1]"),
    _every("ü", text="|\u2028é\u0001"),
    {"type": "Plain", "data": {"id": "1", "number": 5}},
    {"type": "Plain", "data": {"id": "0x", "number": -5}},
    _edge("Link", "null", "empty", id="e,1", note='x"y'),
    _edge("Link", AWKWARD, "NULL"),
    _edge("Every", "empty", "1"),
]
