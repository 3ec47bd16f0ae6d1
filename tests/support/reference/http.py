"""The HTTP interface of Omnigraph 0.10 as data: its schemas, and the statuses that each operation declares.

A schema is a list of words, or of members: `*` marks a required one, `?` a nullable one.
"""

SCHEMAS = {
    "BlobEntityKind": "node edge",
    "BlobRangeOutput": "end*:int64 length*:int64 start*:int64",
    "BranchCreateOutput": "actor_id:str? from*:str name*:str uri*:str",
    "BranchCreateRequest": "from:str? name*:str",
    "BranchDeleteOutput": "actor_id:str? name*:str uri*:str",
    "BranchListOutput": "branches*:[str]",
    "BranchMergeOutcome": "already_up_to_date fast_forward merged",
    "BranchMergeOutput": (
        "actor_id:str? branch_delete_error:str? branch_deleted:bool? outcome*:BranchMergeOutcome source*:str "
        "target*:str"
    ),
    "BranchMergeRequest": "delete_branch:bool source*:str target:str?",
    "ChangeBaselineOutput": "resume_cursor*:str snapshot_commit_id*:str",
    "ChangeBaselineRecord": "baseline*:ChangeBaselineOutput",
    "ChangeBaselineRequest": "branch:str? kind:[EntityKindOutput] op:[ChangeOpOutput] type:[str]",
    "ChangeBlockOutput": "cause*:ChangeCauseOutput changes*:[EntityChangeOutput]",
    "ChangeCauseOutput": (
        "actor_id:str? authored_at*:int64 authored_branch*:str graph_commit_id*:str "
        "merged_parent_commit_id:str? parent_commit_id:str?"
    ),
    "ChangeDiffRefusalOutput": "graph_commit_id*:str reason*:ChangeDiffRefusalReason type_name:str?",
    "ChangeDiffRefusalReason": "parentless_commit schema_boundary unknown",
    "ChangeEndpointsOutput": "from*:str to*:str",
    "ChangeErrorOutput": (
        "change_diff_refusal:ChangeDiffRefusalOutput? change_feed_gap:ChangeFeedGapOutput? code:ErrorCode? "
        "error*:str recovery_required:RecoveryRequiredOutput? resource_limit:ResourceLimitOutput?"
    ),
    "ChangeFeedGapOutput": "cursor:str? first_unreadable_commit_id*:str",
    "ChangeFeedOutput": "blocks*:[ChangeBlockOutput] caught_up:bool? cursor:str? next_page_token:str?",
    "ChangeImageOutput": "endpoints:ChangeEndpointsOutput? properties*:any",
    "ChangeOpOutput": "insert update delete",
    "ChangeOutput": (
        "actor_id:str? affected_edges*:int affected_nodes*:int branch*:str commit:CommitOutput? query_name*:str"
    ),
    "ChangeRequest": "branch:str? name:str? params:any query*:str",
    "ChangeTypeOutput": "id*:str name*:str",
    "CommitChangesOutput": "cause*:ChangeCauseOutput changes*:[EntityChangeOutput] next_page_token:str?",
    "CommitListOutput": "commits*:[CommitOutput]",
    "CommitOutput": (
        "actor_id:str? created_at*:int64 graph_branch:str? graph_commit_id*:str graph_manifest_version*:int64 "
        "merged_parent_commit_id:str? parent_commit_id:str?"
    ),
    "EntityChangeOutput": (
        "after:ChangeImageOutput? before:ChangeImageOutput? id*:str kind*:EntityKindOutput op*:ChangeOpOutput "
        "type*:ChangeTypeOutput"
    ),
    "EntityKindOutput": "node edge",
    "ErrorCode": (
        "unauthorized forbidden bad_request not_found method_not_allowed conflict too_many_requests internal"
    ),
    "ErrorOutput": (
        "blob_range:BlobRangeOutput? change_diff_refusal:ChangeDiffRefusalOutput? "
        "change_feed_gap:ChangeFeedGapOutput? code:ErrorCode? error*:str "
        "external_blob_source:ExternalBlobSourceOutput? key_conflict:KeyConflictOutput? "
        "merge_conflicts:[MergeConflictOutput] precondition_failure:PreconditionFailureOutput? "
        "published_dataset_version_conflict:PublishedDatasetVersionConflictOutput? "
        "read_set_conflict:ReadSetConflictOutput? recovery_required:RecoveryRequiredOutput? "
        "resource_limit:ResourceLimitOutput?"
    ),
    "ExportRequest": "branch:str? type_names:[str] closed",
    "ExternalBlobSourceOutput": "reason*:str uri*:str",
    "GraphBatchDeclarationOutput": "entities_loaded*:int name*:str",
    "GraphBatchLoadOutput": (
        "actor_id:str? base_branch:str? branch*:str branch_created*:bool commit:CommitOutput? "
        "edges*:[GraphBatchDeclarationOutput] mode*:LoadMode nodes*:[GraphBatchDeclarationOutput] "
        "total_entities*:int"
    ),
    "GraphInfo": "graph_id*:str uri*:str",
    "GraphListResponse": "graphs*:[GraphInfo]",
    "HealthOutput": "internal_schema_version*:int32 source_version:str? status*:str version*:str",
    "IngestOutput": (
        "actor_id:str? base_branch:str? branch*:str branch_created*:bool commit:CommitOutput? "
        "edges*:[GraphBatchDeclarationOutput] mode*:LoadMode nodes*:[GraphBatchDeclarationOutput] "
        "total_entities*:int uri*:str"
    ),
    "IngestRequest": "branch:str? data*:str from:str? mode:LoadMode?",
    "InvokeStoredQueryRequest": "branch:str? expect_mutation:bool? params:any snapshot:str?",
    "InvokeStoredQueryResponse": "ReadOutput ChangeOutput",
    "KeyConflictOutput": "entity_id:str? entity_kind*:EntityKindOutput type_name*:str",
    "LegacyReadOutput": "columns:[str] query_name*:str row_count*:int rows*:any target*:ReadTargetOutput",
    "LoadMode": "overwrite append merge",
    "MergeConflictKindOutput": (
        "divergent_insert divergent_update delete_vs_update orphan_edge unique_violation "
        "cardinality_violation value_constraint_violation"
    ),
    "MergeConflictOutput": (
        "entity_id:str? entity_kind*:EntityKindOutput kind*:MergeConflictKindOutput message*:str type_name*:str"
    ),
    "ParamDescriptor": "item_kind:ParamKind? kind*:ParamKind name*:str nullable*:bool vector_dim:int32?",
    "ParamKind": "string bool int bigint float date datetime blob vector list",
    "PreconditionFailureOutput": "actual:str? expected*:str",
    "PublishedDatasetVersionConflictOutput": (
        "actual_published_dataset_version*:int64 entity_kind*:EntityKindOutput "
        "expected_published_dataset_version*:int64 type_name*:str"
    ),
    "QueriesCatalogOutput": "queries*:[QueryCatalogEntry]",
    "QueryCatalogEntry": (
        "description:str? instruction:str? mutation*:bool name*:str params*:[ParamDescriptor] tool_name*:str"
    ),
    "QueryRequest": "branch:str? name:str? params:any query*:str snapshot:str?",
    "ReadOutput": (
        "columns:[str] graph_commit_id:str? query_name*:str row_count*:int rows*:any target*:ReadTargetOutput"
    ),
    "ReadRequest": "branch:str? params:any query_name:str? query_source*:str snapshot:str?",
    "ReadSetConflictOutput": "actual:str? expected:str? member*:str",
    "ReadTargetOutput": "branch:str? snapshot:str?",
    "RecoveryRequiredOutput": "operation_id*:str",
    "ResourceLimitOutput": "actual*:int64 limit*:int64 resource*:str",
    "SchemaApplyOutput": (
        "applied*:bool graph_manifest_version*:int64 step_count*:int steps*:[any] supported*:bool uri*:str"
    ),
    "SchemaApplyRequest": "allow_data_loss:bool schema_source*:str",
    "SchemaOutput": "schema_source*:str",
    "SnapshotDatasetOutput": (
        "dataset_path*:str entity_count*:int64 entity_kind*:EntityKindOutput native_dataset_branch:str? "
        "published_dataset_version*:int64 type_name*:str"
    ),
    "SnapshotOutput": (
        "datasets*:[SnapshotDatasetOutput] graph_branch*:str graph_manifest_version*:int64 "
        "internal_schema_version*:int32"
    ),
}

STATUSES = {
    "GET /graphs": "200 401 403 405",
    "GET /graphs/{graph_id}/blob": "200 206 302 304 400 401 403 404 412 416 500",
    "HEAD /graphs/{graph_id}/blob": "200 302 304 400 401 403 404 412 500",
    "GET /graphs/{graph_id}/branches": "200 401 403",
    "POST /graphs/{graph_id}/branches": "200 400 401 403 409 429 503",
    "POST /graphs/{graph_id}/branches/merge": "200 400 401 403 409 413 424 429 503",
    "DELETE /graphs/{graph_id}/branches/{branch}": "200 401 403 404 429 503",
    "POST /graphs/{graph_id}/change": "200 400 401 403 409 413 424 429 503",
    "GET /graphs/{graph_id}/changes": "200 400 401 403 404 409 410 413 500 503",
    "POST /graphs/{graph_id}/changes/baseline": "200 400 401 403 404 413 500 503",
    "GET /graphs/{graph_id}/commits": "200 401 403",
    "GET /graphs/{graph_id}/commits/{commit_id}": "200 401 403 404",
    "GET /graphs/{graph_id}/commits/{commit_id}/changes": "200 400 401 404 409 410 413 500 503",
    "POST /graphs/{graph_id}/export": "200 400 401 403 404 409 413 415 503",
    "POST /graphs/{graph_id}/ingest": "200 400 401 403 409 413 424 429 503",
    "POST /graphs/{graph_id}/load": "200 400 401 403 409 413 424 429 503",
    "POST /graphs/{graph_id}/load/ndjson": "200 400 401 403 404 409 413 415 424 429 503",
    "POST /graphs/{graph_id}/mutate": "200 400 401 403 409 413 424 429 503",
    "POST /graphs/{graph_id}/mutate/if-graph-commit": "200 400 401 403 409 412 413 424 429 503",
    "GET /graphs/{graph_id}/queries": "200 401 403",
    "POST /graphs/{graph_id}/queries/{name}": "200 400 401 403 404 409 413 424 429 500 503",
    "POST /graphs/{graph_id}/queries/{name}/if-graph-commit": "200 400 401 403 404 409 412 413 424 429 500 503",
    "POST /graphs/{graph_id}/query": "200 400 401 403",
    "POST /graphs/{graph_id}/read": "200 400 401 403",
    "GET /graphs/{graph_id}/schema": "200 401 403",
    "POST /graphs/{graph_id}/schema/apply": "200 400 401 403 409 429",
    "GET /graphs/{graph_id}/snapshot": "200 401 403",
    "GET /healthz": "200",
}
