"""Studio: the whole path in a browser. A shell beside the command line that computes nothing.

How it works::

    serving.py   listens on this machine alone, opens the browser, tidies up
    guard.py     who may ask: token, Host, Origin, headers of every answer
    app.py       one Starlette application from the page modules in ``PAGES``
    session.py   what was chosen, state after state, on disk in ``FOLDER/.pramana-studio``
    jobs.py      work for the worker process: progress, cancel, results kept
    worker.py    that process: tables stay open there, and only there
    tasks.py     what it does: functions that call ``api`` and give back plain data
    view.py      templates, forms, and parts of pages that are filled in when the work is done
    charts.py    numbers in words, and charts
    pages/       one module a page

To add a page, write ``pages/NAME.py`` with ``ENTRIES`` (places in the menu) and ``ROUTES``, write
``templates/NAME.html`` that extends ``base.html``, and enter the module in ``PAGES`` of ``app.py``.
A handler takes a request and gives back ``page(request, "NAME.html", same=..., ...)``; what
may take longer than a glance is a task: ``await part(request, job, "parts/x.html")`` answers a
fragment that the template asks for by ``hx-get``, shows progress until the job is done, and has a
button that cancels it. Whatever a handler changes goes through ``session.change``, which can be
undone. Names and labels are hostile: templates escape everything, forms name columns by number,
and nothing of a table stands in an address, a title or a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.base.registry import lazy_exports

if TYPE_CHECKING:
    from pramana.studio.serving import Listening, serve_studio

__all__ = ["Listening", "serve_studio"]

__getattr__ = lazy_exports(__name__, {"serving": "Listening serve_studio"})
