"""Every path of the API, below ``/api/v1/``."""

from __future__ import annotations

from django.urls import path, re_path

from tasks_app.api.views import dead_letters, operations, queues, tasks, workers

urlpatterns = [
    path("tasks", tasks.TasksView.as_view(), name="api-tasks"),
    path("tasks/bulk", tasks.TasksBulkView.as_view(), name="api-tasks-bulk"),
    path("tasks/<str:id>", tasks.TaskView.as_view(), name="api-task"),
    path("tasks/<str:id>/result", tasks.TaskResultView.as_view(), name="api-task-result"),
    path("tasks/<str:id>/cancel", tasks.TaskCancelView.as_view(), name="api-task-cancel"),
    path("tasks/<str:id>/requeue", tasks.TaskRequeueView.as_view(), name="api-task-requeue"),
    path("tasks/<str:id>/run-now", tasks.TaskRunNowView.as_view(), name="api-task-run-now"),
    path("dlq", dead_letters.DeadLettersView.as_view(), name="api-dlq"),
    path("dlq/groups", dead_letters.DeadLetterGroupsView.as_view(), name="api-dlq-groups"),
    path("dlq/purge", dead_letters.DeadLettersPurgeView.as_view(), name="api-dlq-purge"),
    path("dlq/<str:id>/requeue", dead_letters.DeadLetterRequeueView.as_view(), name="api-dlq-requeue"),
    path("dlq/<str:id>/discard", dead_letters.DeadLetterDiscardView.as_view(), name="api-dlq-discard"),
    path("queues", queues.QueuesView.as_view(), name="api-queues"),
    path("queues/<str:name>", queues.QueueView.as_view(), name="api-queue"),
    path("queues/<str:name>/pause", queues.QueuePauseView.as_view(), name="api-queue-pause"),
    path("queues/<str:name>/resume", queues.QueueResumeView.as_view(), name="api-queue-resume"),
    path("queues/<str:name>/purge", queues.QueuePurgeView.as_view(), name="api-queue-purge"),
    path("workers", workers.WorkersView.as_view(), name="api-workers"),
    path("workers/<str:id>", workers.WorkerView.as_view(), name="api-worker"),
    path("workers/<str:id>/quiet", workers.WorkerQuietView.as_view(), name="api-worker-quiet"),
    path("workers/<str:id>/resume", workers.WorkerResumeView.as_view(), name="api-worker-resume"),
    path("workers/<str:id>/stop", workers.WorkerStopView.as_view(), name="api-worker-stop"),
    path("operations", operations.OperationsView.as_view(), name="api-operations"),
    path("operations/<str:id>", operations.OperationView.as_view(), name="api-operation"),
    path("operations/<str:id>/abort", operations.OperationAbortView.as_view(), name="api-operation-abort"),
    path("audit", workers.AuditView.as_view(), name="api-audit"),
    re_path("", workers.UnknownView.as_view(), name="api-unknown"),
]
