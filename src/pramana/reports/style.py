"""The look of a report: light, quiet, readable on a phone and on paper."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0;background:#fff;color:#1f1f1f;font:16px/1.55 system-ui,"Segoe UI",Roboto,sans-serif}
main,header,footer{max-width:60rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.6rem}
h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .6rem}
h2{font-size:1.35rem;margin:2.4rem 0 .6rem;padding-top:.8rem;border-top:1px solid #d5d5d5}
h3{font-size:1.1rem;margin:1.6rem 0 .3rem}
p{margin:.5rem 0;max-width:44rem}
nav ul{list-style:none;padding:0;margin:.6rem 0;display:flex;flex-wrap:wrap;gap:.3rem 1.1rem}
nav li{padding:.3rem 0}
a{color:#0b4f8a}
.quiet{color:#565656}
.promise{border-left:4px solid #0b5f8a;padding:.1rem 0 .1rem .9rem;margin:1rem 0}
.warning{border-left:4px solid #a01c2f;background:#fdf1f2;padding:.5rem .9rem;margin:1rem 0}
.big{font-size:1.15rem}
dl{margin:.4rem 0;display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}
dt{color:#565656}
dd{margin:0}
.scroll{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.93rem;min-width:50%}
caption{text-align:left;color:#565656;padding:.2rem 0}
th,td{padding:.3rem .7rem .3rem 0;text-align:left;vertical-align:top}
th,td{border-bottom:1px solid #e3e3e3}
thead th{border-bottom:2px solid #8a8a8a}
tbody th{font-weight:500}
.number{text-align:right;font-variant-numeric:tabular-nums}
td.number{white-space:nowrap}
svg{display:block;margin:.6rem 0;height:auto}
pre{background:#f5f5f3;border:1px solid #dcdcd8;padding:.8rem;overflow-x:auto;font-size:.88rem}
summary{cursor:pointer;color:#0b4f8a;padding:.3rem 0}
.ok{color:#1b6b36}.bad{color:#a01c2f;font-weight:600}
footer{padding-bottom:2rem;margin-top:2rem}
:focus-visible{outline:3px solid #0b5f8a;outline-offset:2px}
@media (max-width:34rem){body{font-size:15px}h1{font-size:1.5rem}dl{grid-template-columns:1fr}
dt{margin-top:.4rem}}
@media print{body{font-size:11pt}nav,summary{display:none}details:not([open])>*{display:block}
h2,h3{break-after:avoid}svg,tr,.promise{break-inside:avoid}a{color:inherit;text-decoration:none}
.scroll{overflow:visible}}
""".strip()
