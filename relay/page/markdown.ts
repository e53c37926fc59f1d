import { html, type Markup, unabridged } from "#relay/page/html.ts";

/** Where a page is among the documents, and where another one is served; a link to one that is not becomes text. */
export interface MarkdownOptions {
  /** With a leading slash, such as `/docs/runbooks/stopped.md`. */
  readonly path: string;
  readonly hrefFor: (path: string) => string | undefined;
}

/** Renders what runbooks are written in: headings, paragraphs, lists, tables, code, links and strong text; anything else stays text. */
export function renderMarkdown(text: string, options: MarkdownOptions): readonly Markup[] {
  const blocks = text.replaceAll("\r", "").split(/\n{2,}/);
  return blocks.flatMap((block) => renderBlocks(block.trim().split("\n"), options));
}

/** A heading and a list may follow each other without an empty line. */
function renderBlocks(lines: readonly string[], options: MarkdownOptions): readonly Markup[] {
  const [first = "", ...rest] = lines;
  if (first === "") return [];
  const [, marks, title = ""] = /^(#{1,3}) (.+)$/.exec(first) ?? [];
  if (marks !== undefined) return [heading(marks.length, title, options), ...renderBlocks(rest, options)];
  if (first.startsWith("- "))
    return [html`<ul>${itemsIn(lines).map((item) => html`<li>${inline(item, options)}</li>`)}</ul>\n`];
  if (first.startsWith("|")) return [table(lines, options)];
  return [html`<p>${inline(lines.join(" "), options)}</p>\n`];
}

function heading(level: number, title: string, options: MarkdownOptions): Markup {
  const content = inline(title, options);
  if (level === 1) return html`<h1>${content}</h1>\n`;
  return level === 2 ? html`<h2>${content}</h2>\n` : html`<h3>${content}</h3>\n`;
}

/** An item goes on in lines that are indented. */
function itemsIn(lines: readonly string[]): readonly string[] {
  const items: string[] = [];
  for (const line of lines) {
    if (line.startsWith("- ")) items.push(line.slice(2));
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  return items;
}

/** A row whose first cell is a code can be linked to by that. */
function table(lines: readonly string[], options: MarkdownOptions): Markup {
  const [head = [], , ...body] = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const cells = (row: readonly string[]) => row.map((cell) => html`<td>${inline(cell, options)}</td>`);
  const rows = body.map((row) => {
    const [, code] = /^`(\w+)`$/.exec(row[0] ?? "") ?? [];
    return code === undefined ? html`<tr>${cells(row)}</tr>\n` : html`<tr id="${code}">${cells(row)}</tr>\n`;
  });
  const titles = head.map((cell) => html`<th>${inline(cell, options)}</th>`);
  return html`<table class="codes"><thead><tr>${titles}</tr></thead>\n<tbody>${rows}</tbody></table>\n`;
}

const INLINE = /`([^`]+)`|\[([^[\]]+)\]\(([^()\s]+)\)|\*\*([^*]+)\*\*/g;

function inline(text: string, options: MarkdownOptions): readonly Markup[] {
  const parts: Markup[] = [];
  let at = 0;
  for (const { 0: all, 1: code, 2: words, 3: target, 4: strong, index } of text.matchAll(INLINE)) {
    parts.push(unabridged(text.slice(at, index)));
    if (code !== undefined) parts.push(html`<code>${unabridged(code)}</code>`);
    else if (strong !== undefined) parts.push(html`<b>${inline(strong, options)}</b>`);
    else parts.push(link(words ?? "", target ?? "", options));
    at = index + all.length;
  }
  return [...parts, unabridged(text.slice(at))];
}

function link(words: string, target: string, { path, hrefFor }: MarkdownOptions): Markup {
  const { protocol, pathname, hash } = new URL(target, `file://${path}`);
  const content = inline(words, { path, hrefFor });
  if (protocol !== "file:") return html`${content} (<code>${target}</code>)`;
  const href = hrefFor(pathname);
  if (href === undefined) return html`${content} (<code>${pathname.slice(1)}</code>)`;
  return html`<a href="${href}${hash}">${content}</a>`;
}
