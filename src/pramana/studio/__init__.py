"""Studio: the whole path in a browser. A shell next to the command line that computes nothing.

How it works::

    serving.py   listens on this machine alone, opens the browser, tidies up
    app.py       one Starlette application from the page modules in ``STEPS``, behind its guard:
                 token, Host, Origin, headers
    session.py   the steward's decisions, state after state, in ``FOLDER/.pramana-studio``
    jobs.py      the queue before the worker process: progress, cancel, kept results
    worker.py    that process: tables stay open there, and only there; processes that serve surveys
    tasks.py     its tasks: functions that call ``api`` and return JSON data
    analyst.py   its tasks on a release
    view.py      templates, forms, and parts of pages that are filled in when a job is done
    pages/       the pages, one module per step

To add a page, write a module of ``pages/`` with ``PAGES = Pages(...)``, which names its places in
the menu, and ``templates/NAME.html`` that extends ``base.html``; enter the module in ``STEPS`` of
``app.py``. ``@PAGES.get(path)`` and ``@PAGES.post(path)`` enter its handlers. A handler gives back
``page(request, "NAME.html", same=..., ...)``; what may take longer than a glance is a task:
``await part(request, job, "parts/x.html")`` answers a fragment that the template asks for by
``hx-get``, shows progress until the job is done, and has a button that cancels it. Whatever a
handler changes goes through ``session.change``, which can be undone. Names and labels are hostile:
templates escape everything, forms name columns by number, and nothing of a table is in an
address, a title or a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.base.registry import lazy_exports

if TYPE_CHECKING:
    from pramana.studio.serving import Listening, serve_studio

__all__ = ["Listening", "serve_studio"]

__getattr__ = lazy_exports(__name__, {"serving": "Listening serve_studio"})
