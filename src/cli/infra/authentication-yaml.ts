import * as yaml from "yaml";
import type { ConfigurationFile } from "#core/authentication/configure.ts";
import { formatCanonicalJson } from "#core/hash.ts";

/** Comments of new entries, by the URL of their issuer; lines without `#`. */
export type EntryComments = ReadonlyMap<string, readonly string[]>;

/** Writes a new file with a header. */
export function writeConfiguration(configuration: ConfigurationFile, comments: EntryComments): string {
  const document = new yaml.Document(configuration, AS_KUBERNETES_READS);
  document.commentBefore = formatComment(HEADER);
  commentEntries(document, new Set(), comments);
  return document.toString({ lineWidth: 0 });
}

/**
 * Rewrites the text of an existing file for `configuration`, and keeps comments and order. Undefined if
 * anchors or aliases share what must differ, which requires a person.
 */
export function rewriteConfiguration(
  text: string,
  configuration: ConfigurationFile,
  comments: EntryComments,
): string | undefined {
  const document = yaml.parseDocument(text, AS_KUBERNETES_READS);
  const before: unknown = document.toJS();
  if (formatCanonicalJson(before) === formatCanonicalJson(configuration)) return text;
  const present = listIssuers(before);
  try {
    rewrite(document, [], before, configuration);
    commentEntries(document, present, comments);
    const after = document.toString({ lineWidth: 0 });
    return formatCanonicalJson(yaml.parse(after)) === formatCanonicalJson(configuration) ? after : undefined;
  } catch {
    // The path contains an alias, or the alias's target is missing.
    return undefined;
  }
}

/** kube-apiserver reads YAML 1.1, in which a plain `yes` or `1_000` is not a string. */
const AS_KUBERNETES_READS = { compat: "yaml-1.1" } as const;

const HEADER = [
  "For kube-apiserver: --authentication-config=FILE. Written by `serverless-ccm infra authentication-config`.",
  "It is refused beside the flags --oidc-*, so take these out. Where it changes kube-apiserver reads it again, without a restart; of",
  "what it cannot use it says so in its log, and goes on with what it had.",
];

function formatComment(lines: readonly string[]): string {
  return lines.map((line) => ` ${line}`).join("\n");
}

function commentEntries(
  document: yaml.Document,
  present: ReadonlySet<unknown>,
  comments: EntryComments,
): void {
  const entries = document.get("jwt");
  if (!yaml.isSeq(entries)) return;
  for (const entry of entries.items) {
    if (!yaml.isMap(entry)) continue;
    const url = entry.getIn(["issuer", "url"]);
    const lines = present.has(url) ? undefined : comments.get(String(url));
    if (lines !== undefined) entry.commentBefore = formatComment(lines);
  }
}

function listIssuers(file: unknown): ReadonlySet<unknown> {
  const { jwt } = file as { readonly jwt?: readonly { readonly issuer: { readonly url: string } }[] };
  return new Set((jwt ?? []).map(({ issuer }) => issuer.url));
}

/** Changes what differs and keeps everything else. */
function rewrite(
  document: yaml.Document,
  path: readonly (string | number)[],
  before: unknown,
  after: unknown,
): void {
  if (formatCanonicalJson(before) === formatCanonicalJson(after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (const [index, item] of after.entries()) rewrite(document, [...path, index], before[index], item);
    for (let index = before.length - 1; index >= after.length; index -= 1)
      document.deleteIn([...path, index]);
  } else if (isRecord(before) && isRecord(after)) {
    for (const [key, value] of Object.entries(after)) rewrite(document, [...path, key], before[key], value);
    for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) document.deleteIn([...path, key]);
  } else {
    const node: unknown = document.getIn(path, true);
    // Replacing only the scalar keeps the comment after it.
    if (yaml.isScalar(node) && typeof after === "string") node.value = after;
    else document.setIn(path, document.createNode(after));
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
