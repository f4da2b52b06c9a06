"""A real browser looks at pages: how they are laid out, what they ask for, how their letters stand out."""

from __future__ import annotations

import html
import http.server
import json
import re
import shutil
import subprocess
import threading

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MEASURE = """
const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const lum = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const mix = (a, b, share) => a * share + b * (1 - share);
const over = (top, ground) => top.slice(0, 3).map((v, i) => mix(v, ground[i], top[3] ?? 1));
function ground(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const color = parse(at.ownerDocument.defaultView.getComputedStyle(at).backgroundColor);
    if (color.length && color[3] !== 0) { layers.push(color); if ((color[3] ?? 1) === 1) break; }
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
}
function look(frame) {
  const page = frame.contentDocument, view = frame.contentWindow, width = frame.clientWidth;
  const wide = [], faint = [];
  for (const element of page.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect(), style = view.getComputedStyle(element);
    if (!box.width || style.visibility === "hidden" || style.clipPath !== "none") continue;
    const scrolls = element.closest(".scroll");
    if (!scrolls && (box.right > width + 1 || box.left < -1)) wide.push(element.outerHTML.slice(0, 160));
    if (element.tagName === "text") {
      const drawing = element.closest("svg").getBoundingClientRect();
      const is_cut = box.right > drawing.right + 1 || box.left < drawing.left - 1;
      if (is_cut) wide.push("cut: " + element.outerHTML.slice(0, 160));
    }
    const is_box = style.display !== "inline" && element.clientWidth && !element.closest("svg");
    if (!scrolls && is_box && element.scrollWidth > element.clientWidth + 1)
      wide.push("inside: " + element.outerHTML.slice(0, 160));
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (says) {
      const drawn = element.closest("svg");
      const ink = parse(drawn ? style.fill : style.color);
      const below = ground(drawn ? drawn.parentElement : element);
      const [high, low] = [lum(over(ink, below)), lum(below)].sort((a, b) => b - a);
      const contrast = (high + 0.05) / (low + 0.05);
      if (contrast < 4.5) faint.push([contrast.toFixed(2), element.outerHTML.slice(0, 120)]);
    }
  }
  return { width: page.documentElement.scrollWidth, wide, faint,
           fetched: view.performance.getEntriesByType("resource").map((entry) => entry.name),
           scripts: page.scripts.length, pwned: Boolean(view.pwned || window.pwned) };
}
"""


_PLAIN = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
)


def print_page(page, pdf, *, folder):
    """Print a page to a PDF file."""
    command = [find_browser(), *_PLAIN, f"--user-data-dir={folder}", "--no-pdf-header-footer"]
    command += [f"--print-to-pdf={pdf}", page.as_uri()]
    subprocess.run(command, capture_output=True, timeout=600, check=True)


def find_browser():
    """The first Chromium that is installed; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Look:
    """Serves pages to a browser, unchanged, in frames of given widths, and keeps what it asked for."""

    def __init__(self, pages):
        self.pages = {f"/{name}.html": text.encode() for name, text in pages.items()}
        self.asked = []

    def __enter__(self):
        look = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.partition("?")[0]
                look.asked.append(path)
                body = look.pages.get(path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *raised):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def measure(self, widths, *, dark=False, folder):
        """Open every page at every width, all of their details too; gives (name, width) to what was seen."""
        frames = [(name, width) for name in self.pages for width in widths]
        boxes = "".join(
            f'<iframe src="{name}?{width}" style="border:0;width:{width}px;height:800px"></iframe>'
            for name, width in frames
        )
        ends = """
        const frames = [...document.querySelectorAll("iframe")];
        window.addEventListener("load", () => {
          const found = frames.map((frame) => {
            frame.contentDocument.querySelectorAll("details").forEach((each) => (each.open = true));
            return look(frame);
          });
          document.body.innerHTML = "<pre></pre>";
          document.querySelector("pre").textContent = JSON.stringify(found);
        });"""
        outer = f"<!doctype html><meta charset=utf-8><script>{MEASURE}</script>{boxes}<script>{ends}</script>"
        self.pages["/all.html"] = outer.encode()
        command = [
            find_browser(),
            *_PLAIN,
            f"--user-data-dir={folder}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--virtual-time-budget=20000",
            "--dump-dom",
            f"{self.address}/all.html",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        del self.pages["/all.html"]
        text = re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL)
        assert text, done.stdout[:500] + done.stderr[-500:]
        found = json.loads(html.unescape(text[1]))
        return dict(zip([(name[1:-5], width) for name, width in frames], found, strict=True))
