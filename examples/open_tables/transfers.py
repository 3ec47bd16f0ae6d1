"""Two programs that write with Lance alone, and one that reads: no state between two tables is ever visible.

A transfer changes two rows of the table Account and adds a row to the table Paid. The writers are processes that know
Lance and the namespace, and nothing else of the graph: they stage a detached version of each table and commit both with
``batch_commit_tables``. The reader compares the two tables all the time.

Run it in this directory: python transfers.py [DIRECTORY]
"""

import multiprocessing
import random
import sys
from pathlib import Path

import lance
import lance_namespace
import pyarrow as pa
from lance.fragment import write_fragments

import omnigraph
from omnigraph.namespace import OmnigraphNamespace

SCHEMA = "node Account { name: String @key  balance: I64 }\nedge Paid: Account -> Account { amount: I64 }"
ACCOUNTS = ["ann", "bob", "cem", "dee"]
OPENING = 100
TRANSFERS = 6


def current(namespace: OmnigraphNamespace, table: list[str]) -> tuple[lance.LanceDataset, lance_namespace.TableVersion]:
    """The newest version of a table, opened with plain Lance, and what the namespace says about it."""
    place = namespace.describe_table({"id": table})
    newest = namespace.list_table_versions({"id": table, "limit": 1, "descending": True}).versions[0]
    number = newest.manifest_path.rpartition("/")[2].removesuffix(".manifest")
    # A detached version is named by its number; the only other one is the first, which is empty.
    version = int(number.removeprefix("d")) if number.startswith("d") else 1
    return lance.dataset(place.location, version=version), newest


def created(table: list[str], newest: lance_namespace.TableVersion, staged: lance.LanceDataset) -> dict[str, object]:
    """The operation of a batch that makes a staged version the next one of a table."""
    directory = newest.manifest_path.rpartition("/")[0]
    path = f"{directory}/d{staged.version}.manifest"
    return {"create_table_version": {"id": table, "version": newest.version + 1, "manifest_path": path}}


def transfer(namespace: OmnigraphNamespace, source: str, target: str, amount: int, name: str) -> None:
    """Stage both tables with Lance, and commit them together."""
    accounts, accounts_now = current(namespace, ["main", "Account"])
    moved = accounts.to_table(filter=f"name in ('{source}', '{target}')").to_pylist()
    for row in moved:
        row["balance"] += amount if row["name"] == target else -amount
    update = accounts.merge_insert("id").when_matched_update_all()
    transaction, _ = update.execute_uncommitted(pa.Table.from_pylist(moved, accounts.schema))
    new_accounts = lance.LanceDataset.commit(accounts, transaction, detached=True)

    paid, paid_now = current(namespace, ["main", "Paid"])
    row = {"id": name, "src": source, "dst": target, "amount": amount}
    append = lance.LanceOperation.Append(write_fragments(pa.Table.from_pylist([row], paid.schema), paid))
    new_paid = lance.LanceDataset.commit(paid, append, read_version=paid.version, detached=True)

    batch = [
        created(["main", "Account"], accounts_now, new_accounts),
        created(["main", "Paid"], paid_now, new_paid),
    ]
    namespace.batch_commit_tables({"operations": batch, "context": {"actor": name.partition("-")[0]}})


def write(root: str, writer: str) -> int:
    """Make all transfers of one writer; returns how often another one was faster."""
    namespace, chance, conflicts = OmnigraphNamespace(root), random.Random(writer), 0
    for number in range(TRANSFERS):
        source, target = chance.sample(ACCOUNTS, 2)
        while True:
            try:
                transfer(namespace, source, target, chance.randint(1, 9), f"{writer}-{number}")
                break
            except lance_namespace.ConcurrentModificationError:
                conflicts += 1
    return conflicts


def head(namespace: OmnigraphNamespace) -> str:
    """The commit that the branch has now."""
    return namespace.describe_namespace({"id": ["main"]}).properties["commit"]


def read(namespace: OmnigraphNamespace, commit: str) -> int:
    """Compare the tables at one commit; returns the number of transfers."""
    accounts, paid = (
        lance.dataset(namespace_client=namespace, table_id=[f"@{commit}", table]).to_table().to_pylist()
        for table in ("Account", "Paid")
    )
    expected = dict.fromkeys(ACCOUNTS, OPENING)
    for row in paid:
        expected[row["src"]] -= row["amount"]
        expected[row["dst"]] += row["amount"]
    assert {row["name"]: row["balance"] for row in accounts} == expected, f"{commit} shows one table without the other"
    return len(paid)


def main() -> None:
    root = str(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "bank.omni")
    graph = omnigraph.create(root, SCHEMA)
    graph.load([{"type": "Account", "data": {"name": name, "balance": OPENING}} for name in ACCOUNTS], mode="append")
    namespace = OmnigraphNamespace(root)
    seen: dict[str, int] = {}
    # Lance does not survive a fork of the process.
    with multiprocessing.get_context("spawn").Pool(2) as writers:
        work = writers.starmap_async(write, [(root, "west"), (root, "east")])
        while not work.ready():
            work.wait(0.01)
            commit = head(namespace)
            if commit not in seen:
                seen[commit] = read(namespace, commit)
        conflicts = sum(work.get())
    transfers = read(namespace, head(namespace))
    print(f"{transfers} transfers by 2 writers; {conflicts} were staged again after a conflict")
    print(f"read at {len(seen)} commits: the tables agreed at every one")


if __name__ == "__main__":
    main()
