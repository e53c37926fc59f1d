import { expect, test } from "vitest";
import { renderText } from "#relay/page/html.ts";
import { renderMarkdown } from "#relay/page/runbooks.ts";

const options = {
  path: "/docs/runbooks/stopped.md",
  hrefFor: (path: string) => (path === "/docs/runbooks/nodes-wait.md" ? "/runbooks/nodes-wait" : undefined),
};

test.each([
  ["a heading and what follows it", "# One\n## Two\nWords.", "<h1>One</h1>\n<h2>Two</h2>\n<p>Words.</p>\n"],
  ["a list with an item of two lines", "- one\n  more\n- two", "<ul><li>one more</li><li>two</li></ul>\n"],
  [
    "a table, whose codes are anchors",
    "| code | a |\n|---|---|\n| `Denied` | b |\n| c | d |",
    '<table class="codes"><thead><tr><th>code</th><th>a</th></tr></thead>\n<tbody><tr id="Denied"><td><code>Denied</code></td><td>b</td></tr>\n<tr><td>c</td><td>d</td></tr>\n</tbody></table>\n',
  ],
  [
    "a link to a page that is served",
    "[**it** `x`](nodes-wait.md#y)",
    '<p><a href="/runbooks/nodes-wait#y"><b>it</b> <code>x</code></a></p>\n',
  ],
  [
    "a link to one that is not, as its path",
    "[it](../how-to/stop-it.md#x)",
    "<p>it (<code>docs/how-to/stop-it.md</code>)</p>\n",
  ],
  [
    "a link to another place, as text",
    "[it](https://example.com/a)",
    "<p>it (<code>https://example.com/a</code>)</p>\n",
  ],
  ["a script, as text", "`<script>` <b>&", "<p><code>&#60;script&#62;</code> &#60;b&#62;&#38;</p>\n"],
  ["text of any length, whole", "x".repeat(1_000), `<p>${"x".repeat(1_000)}</p>\n`],
  ["nothing", "\n\n", ""],
])("renders %s", (_what, text, expected) => {
  expect(renderText(renderMarkdown(text, options))).toBe(expected);
});
