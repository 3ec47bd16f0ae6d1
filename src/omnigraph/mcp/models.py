"""Arguments of tools. Their JSON schemas are what an agent reads, so every field says what it takes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Ref = Annotated[str | None, Field(description="A branch, a commit id, or a form such as main~2; default: the branch.")]


class Arguments(BaseModel):
    """Arguments that a tool takes; others are refused."""

    model_config = ConfigDict(extra="forbid")


class Describe(Arguments):
    type: Annotated[str | None, Field(description="A node or edge type, for all of its properties.")] = None
    at: Ref = None


class Find(Arguments):
    text: Annotated[str, Field(min_length=1, max_length=2000, description="The words to look for.")]
    types: Annotated[list[str] | None, Field(description="Node types to search; default: all with text.")] = None
    mode: Annotated[
        Literal["auto", "text", "vector", "hybrid"],
        Field(description="text: words (BM25); vector: meaning; hybrid: both. auto: hybrid where vectors exist."),
    ] = "auto"
    limit: Annotated[int, Field(ge=1, le=50, description="Maximum number of hits.")] = 10
    at: Ref = None


class Get(Arguments):
    type: Annotated[str, Field(description="A node type.")]
    id: Annotated[str, Field(description="The id of the node.")]
    neighbours: Annotated[int, Field(ge=0, le=100, description="Neighbours shown for each edge type.")] = 25
    at: Ref = None


class Place(Arguments):
    type: str
    id: str


class Paths(Arguments):
    start: Annotated[Place, Field(description="The first node.")]
    end: Annotated[Place, Field(description="The last node.")]
    hops: Annotated[int, Field(ge=1, le=6, description="Maximum number of edges.")] = 4
    at: Ref = None


class Query(Arguments):
    text: Annotated[str, Field(max_length=100_000, description="A read in the query language .gq.")]
    params: Annotated[dict[str, Any], Field(description="Values of the declared parameters.")] = Field(
        default_factory=dict
    )
    name: Annotated[str | None, Field(description="The query to run, if the text declares several.")] = None
    limit: Annotated[int, Field(ge=1, le=1000, description="Maximum number of rows.")] = 100
    cursor: Annotated[str | None, Field(description="`next` of an earlier answer, for the rows after it.")] = None
    at: Ref = None


class History(Arguments):
    limit: Annotated[int, Field(ge=1, le=100, description="Maximum number of commits.")] = 20
    actor: Annotated[str | None, Field(description="Only commits of this actor.")] = None
    branch: Annotated[str | None, Field(description="The branch; default: the branch of the session.")] = None


class Diff(Arguments):
    before: Annotated[str, Field(description="A branch, a commit id, or a form such as main~2.")]
    after: Ref = None
    limit: Annotated[int, Field(ge=1, le=500, description="Maximum number of changes.")] = 50


class StartTask(Arguments):
    goal: Annotated[str, Field(min_length=1, max_length=500, description="What the task is for, in one sentence.")]


class Entity(Arguments):
    type: Annotated[str, Field(description="A node or edge type.")]
    data: Annotated[dict[str, Any], Field(description="Properties by name.")] = Field(default_factory=dict)
    id: Annotated[str | None, Field(description="Only for types whose ids are not derived from a key.")] = None
    source: Annotated[str | None, Field(description="Edges: the id of the node where it starts.")] = None
    target: Annotated[str | None, Field(description="Edges: the id of the node where it ends.")] = None
    source_type: Annotated[str | None, Field(description="Its type, if edges start at several types.")] = None
    target_type: Annotated[str | None, Field(description="Its type, if edges end at several types.")] = None


class Write(Arguments):
    task: Annotated[str, Field(description="The id that start_task returned.")]
    upserts: Annotated[
        list[Entity], Field(max_length=1000, description="Entities to insert or update; unnamed properties stay.")
    ] = Field(default_factory=list)
    deletes: Annotated[
        list[Place], Field(max_length=1000, description="Entities to delete; edges of a node go with it.")
    ] = Field(default_factory=list)
    message: Annotated[str | None, Field(max_length=1000, description="Why; the reviewer reads it.")] = None


class Mutate(Arguments):
    task: Annotated[str, Field(description="The id that start_task returned.")]
    text: Annotated[str, Field(max_length=100_000, description="A mutation in the query language .gq.")]
    params: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None
    message: Annotated[str | None, Field(max_length=1000, description="Why; the reviewer reads it.")] = None


class Task(Arguments):
    task: Annotated[str, Field(description="The id that start_task returned.")]


class FinishTask(Arguments):
    task: Annotated[str, Field(description="The id that start_task returned.")]
    message: Annotated[str | None, Field(max_length=1000, description="The message of the merge.")] = None
