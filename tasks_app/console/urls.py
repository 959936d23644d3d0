"""The console's paths. Actions are POSTs below the page of what they act on."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path, register_converter

from tasks_app.console.actions import queues as queue_actions
from tasks_app.console.actions.keys import make_key, revoke_key
from tasks_app.console.actions.operations import abort, begin
from tasks_app.console.actions.tasks import act_on_task, bulk, try_kind
from tasks_app.console.actions.users import add_user, change_user
from tasks_app.console.actions.workers import tell
from tasks_app.console.pages.audit import audit
from tasks_app.console.pages.dead_letters import dead_letters
from tasks_app.console.pages.keys import keys
from tasks_app.console.pages.operations import operations
from tasks_app.console.pages.overview import overview
from tasks_app.console.pages.queues import queue, queues
from tasks_app.console.pages.search import search
from tasks_app.console.pages.signing_in import SignIn, change_password, disarm
from tasks_app.console.pages.system import system
from tasks_app.console.pages.task import task, task_json, task_text
from tasks_app.console.pages.tasks import tasks
from tasks_app.console.pages.users import users
from tasks_app.console.pages.workers import workers
from tasks_app.domain.operation import BULK_ACTIONS
from tasks_app.domain.transitions import Action
from tasks_app.domain.wish import Wish


class TaskIdConverter:
    """Anything that can be a record's id, odd ones planted by hand included: each can be opened and discarded."""

    regex = "[^/]{1,128}?"

    def to_python(self, value: str) -> str:
        """The id as it stands in the address."""
        return value

    def to_url(self, value: str) -> str:
        """The id; Django quotes it."""
        return value


register_converter(TaskIdConverter, "taskid")

app_name = "console"
urlpatterns = [
    path("", overview.as_view(), name="overview"),
    path("search", search, name="search"),
    path("tasks/", tasks.as_view(), name="tasks"),
    path("tasks/bulk/", bulk, name="tasks-bulk"),
    path("tasks/<taskid:task_id>.json", task_json, name="task-json"),
    path("tasks/<taskid:task_id>/", task.as_view(), name="task"),
    path("tasks/<taskid:task_id>/text/<slug:name>", task_text, name="task-text"),
    *(path(f"tasks/<taskid:task_id>/{action}/", act_on_task(action), name=f"task-{action}") for action in Action),
    path("dlq/", dead_letters.as_view(), name="dlq"),
    path("dlq/purge/", queue_actions.purge_dead_letters, name="dlq-purge"),
    path("dlq/requeue/", try_kind, name="dlq-try"),
    path("dlq/<taskid:task_id>/requeue/", act_on_task(Action.REQUEUE), name="dlq-requeue"),
    path("dlq/<taskid:task_id>/discard/", act_on_task(Action.DISCARD), name="dlq-discard"),
    path("queues/", queues.as_view(), name="queues"),
    path("queues/<str:name>/", queue.as_view(), name="queue"),
    path("queues/<str:name>/pause/", queue_actions.pause, name="queue-pause"),
    path("queues/<str:name>/resume/", queue_actions.resume, name="queue-resume"),
    path("queues/<str:name>/purge/", queue_actions.purge, name="queue-purge"),
    path("workers/", workers.as_view(), name="workers"),
    *(path(f"workers/<str:worker_id>/{wish}/", tell(wish), name=f"worker-{wish}") for wish in Wish),
    path("operations/", operations.as_view(), name="operations"),
    *(path(f"operations/{action}/", begin(action), name=f"operations-{action}") for action in BULK_ACTIONS),
    path("operations/<str:operation_id>/", operations.as_view(), name="operation"),
    path("operations/<str:operation_id>/abort/", abort, name="operation-abort"),
    path("audit/", audit.as_view(), name="audit"),
    path("system/", system.as_view(), name="system"),
    path("users/", users.as_view(), name="users"),
    path("users/add/", add_user, name="user-add"),
    path("users/<int:user_id>/", change_user, name="user"),
    path("keys/", keys.as_view(), name="keys"),
    path("keys/make/", make_key, name="key-make"),
    path("keys/<str:name>/revoke/", revoke_key, name="key-revoke"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(http_method_names=["post"]), name="logout"),
    path("password/", change_password, name="password"),
    path("disarm/", disarm, name="disarm"),
]
