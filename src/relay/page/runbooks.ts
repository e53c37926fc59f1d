import { readFile } from "node:fs/promises";
import { html, type Markup, renderText, renderUnabridged } from "#relay/page/html.ts";
import { STYLE } from "#relay/page/parts.ts";

/** The path prefix of the served pages; the page at the prefix lists all codes. */
export const RUNBOOKS = "/runbooks/";

const CODES = "codes";

/** Codes with a runbook, for every controller. */
const BY_CODE: Readonly<Record<string, string>> = {
  BrakePulled: "deletion-held-back",
  DeletionUnproven: "deletion-held-back",
  NodeCountUnknown: "deletion-held-back",
  StateMalformed: "deletion-held-back",
  StateMissing: "deletion-held-back",
  StateOfOtherVersion: "deletion-held-back",
  StateUnreadable: "deletion-held-back",
  FleetBrakeContended: "fleet-brake-engaged",
  FleetBrakeEngaged: "fleet-brake-engaged",
  FleetBrakeUnusable: "fleet-brake-engaged",
  FleetShareUsed: "fleet-brake-engaged",
  Stopped: "stopped",
  Throttled: "cloud-throttles",
};

/** The runbook for objects that wait without a further reason. */
const BY_CONTROLLER: Readonly<Record<string, string>> = {
  "cloud-node-controller": "nodes-wait",
  "service-lb-controller": "services-wait",
};

/** Returns the path of the page that explains a code: a runbook, or the code's line in the list of codes. */
export function findRunbook(code: string, controller: string): string {
  const name = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : BY_CONTROLLER[controller];
  return name === undefined
    ? `${RUNBOOKS}${CODES}#${encodeURIComponent(code.toWellFormed())}`
    : `${RUNBOOKS}${name}`;
}

/**
 * The folders of the pages: next to the bundle's folder, or in the sources. A bundle must not search further
 * up.
 */
const DOCS = [new URL("../docs/", import.meta.url), new URL("../../../docs/", import.meta.url)];

const NAME = /^[a-z-]{1,64}$/;

const rendered = new Map<string, string>();

/** Reads the runbook of this name as an HTML page; undefined if not found. Each is read once. */
export async function readRunbook(name: string): Promise<string | undefined> {
  if (!NAME.test(name)) return undefined;
  const known = rendered.get(name);
  if (known !== undefined) return known;
  const path = name === CODES ? "reference/codes.md" : `runbooks/${name}.md`;
  for (const docs of DOCS) {
    const text = await readFile(new URL(path, docs), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const page = renderRunbook(text, `/docs/${path}`);
    rendered.set(name, page);
    return page;
  }
  return undefined;
}

function renderRunbook(text: string, path: string): string {
  const [, title = "Runbook"] = /^# (.+)$/m.exec(text) ?? [];
  return renderText(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}: serverless-ccm</title>
<meta name="viewport" content="width=device-width">
<style>${STYLE}</style>
</head>
<body>
<main class="runbook">
<p><a href="/">All clusters</a></p>
${renderMarkdown(text, { path, hrefFor: getServedPath })}</main>
</body>
</html>
`);
}

/** Returns the path under which a documentation page is served, if it is. */
function getServedPath(path: string): string | undefined {
  const [, name] = /^\/docs\/runbooks\/([a-z-]+)\.md$/.exec(path) ?? [];
  if (name !== undefined) return `${RUNBOOKS}${name}`;
  return path === "/docs/reference/codes.md" ? `${RUNBOOKS}${CODES}` : undefined;
}

/**
 * The path of a page among the documents, and the paths of other served pages. A link to a page that is not
 * served becomes text.
 */
interface MarkdownOptions {
  /** With a leading slash, such as `/docs/runbooks/stopped.md`. */
  readonly path: string;
  readonly hrefFor: (path: string) => string | undefined;
}

/**
 * Renders the Markdown of runbooks: headings, paragraphs, lists, tables, code, links and strong text.
 * Everything else stays text.
 */
export function renderMarkdown(text: string, options: MarkdownOptions): readonly Markup[] {
  const blocks = text.replaceAll("\r", "").split(/\n{2,}/);
  return blocks.flatMap((block) => renderBlocks(block.trim().split("\n"), options));
}

/** Renders blocks; a heading and a list may follow each other without an empty line. */
function renderBlocks(lines: readonly string[], options: MarkdownOptions): readonly Markup[] {
  const [first = "", ...rest] = lines;
  if (first === "") return [];
  const [, marks, title = ""] = /^(#{1,3}) (.+)$/.exec(first) ?? [];
  if (marks !== undefined)
    return [renderHeading(marks.length, title, options), ...renderBlocks(rest, options)];
  if (first.startsWith("- "))
    return [
      html`<ul>${splitItems(lines).map((item) => html`<li>${renderInline(item, options)}</li>`)}</ul>\n`,
    ];
  if (first.startsWith("|")) return [renderTable(lines, options)];
  return [html`<p>${renderInline(lines.join(" "), options)}</p>\n`];
}

function renderHeading(level: number, title: string, options: MarkdownOptions): Markup {
  const content = renderInline(title, options);
  if (level === 1) return html`<h1>${content}</h1>\n`;
  return level === 2 ? html`<h2>${content}</h2>\n` : html`<h3>${content}</h3>\n`;
}

/** Splits a list into items; indented lines continue an item. */
function splitItems(lines: readonly string[]): readonly string[] {
  const items: string[] = [];
  for (const line of lines) {
    if (line.startsWith("- ")) items.push(line.slice(2));
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  return items;
}

/** Renders a table. A row whose first cell is a code gets that code as its anchor. */
function renderTable(lines: readonly string[], options: MarkdownOptions): Markup {
  const [head = [], , ...body] = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const cells = (row: readonly string[]) => row.map((cell) => html`<td>${renderInline(cell, options)}</td>`);
  const rows = body.map((row) => {
    const [, code] = /^`(\w+)`$/.exec(row[0] ?? "") ?? [];
    return code === undefined ? html`<tr>${cells(row)}</tr>\n` : html`<tr id="${code}">${cells(row)}</tr>\n`;
  });
  const titles = head.map((cell) => html`<th>${renderInline(cell, options)}</th>`);
  return html`<table class="codes"><thead><tr>${titles}</tr></thead>\n<tbody>${rows}</tbody></table>\n`;
}

const INLINE = /`([^`]+)`|\[([^[\]]+)\]\(([^()\s]+)\)|\*\*([^*]+)\*\*/g;

function renderInline(text: string, options: MarkdownOptions): readonly Markup[] {
  const parts: Markup[] = [];
  let at = 0;
  for (const { 0: all, 1: code, 2: words, 3: target, 4: strong, index } of text.matchAll(INLINE)) {
    parts.push(renderUnabridged(text.slice(at, index)));
    if (code !== undefined) parts.push(html`<code>${renderUnabridged(code)}</code>`);
    else if (strong !== undefined) parts.push(html`<b>${renderInline(strong, options)}</b>`);
    else parts.push(renderLink(words ?? "", target ?? "", options));
    at = index + all.length;
  }
  return [...parts, renderUnabridged(text.slice(at))];
}

function renderLink(words: string, target: string, { path, hrefFor }: MarkdownOptions): Markup {
  const { protocol, pathname, hash } = new URL(target, `file://${path}`);
  const content = renderInline(words, { path, hrefFor });
  if (protocol !== "file:") return html`${content} (<code>${target}</code>)`;
  const href = hrefFor(pathname);
  if (href === undefined) return html`${content} (<code>${pathname.slice(1)}</code>)`;
  return html`<a href="${href}${hash}">${content}</a>`;
}
