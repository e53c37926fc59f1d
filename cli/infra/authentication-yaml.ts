import * as yaml from "yaml";
import type { WrittenConfiguration } from "#core/authentication/configure.ts";
import { canonicalJson } from "#core/hash.ts";

/** Comments of new entries, by the URL of their issuer; lines without `#`. */
export type EntryComments = ReadonlyMap<string, readonly string[]>;

/** A file of its own, with a header. */
export function writeConfiguration(configuration: WrittenConfiguration, comments: EntryComments): string {
  const document = new yaml.Document(configuration, AS_KUBERNETES_READS);
  document.commentBefore = commentOf(HEADER);
  commentEntries(document, new Set(), comments);
  return document.toString({ lineWidth: 0 });
}

/**
 * The text of an existing file changed to say what `configuration` says, comments and order kept; undefined where that takes a
 * person, as anchors and aliases share what is to differ.
 */
export function rewriteConfiguration(
  text: string,
  configuration: WrittenConfiguration,
  comments: EntryComments,
): string | undefined {
  const document = yaml.parseDocument(text, AS_KUBERNETES_READS);
  const before: unknown = document.toJS();
  if (canonicalJson(before) === canonicalJson(configuration)) return text;
  const present = issuersOf(before);
  try {
    rewrite(document, [], before, configuration);
    commentEntries(document, present, comments);
    const after = document.toString({ lineWidth: 0 });
    return canonicalJson(yaml.parse(after)) === canonicalJson(configuration) ? after : undefined;
  } catch {
    // An alias on the way, or of what is not there any more.
    return undefined;
  }
}

/** kube-apiserver's YAML is 1.1, to which a plain `yes` or `1_000` is no text. */
const AS_KUBERNETES_READS = { compat: "yaml-1.1" } as const;

const HEADER = [
  "For kube-apiserver: --authentication-config=FILE. Written by `serverless-ccm infra authentication-config`.",
  "It is refused beside the flags --oidc-*, so take these out. Where it changes kube-apiserver reads it again, without a restart; of",
  "what it cannot use it says so in its log, and goes on with what it had.",
];

function commentOf(lines: readonly string[]): string {
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
    if (lines !== undefined) entry.commentBefore = commentOf(lines);
  }
}

function issuersOf(file: unknown): ReadonlySet<unknown> {
  const { jwt } = file as { readonly jwt?: readonly { readonly issuer: { readonly url: string } }[] };
  return new Set((jwt ?? []).map(({ issuer }) => issuer.url));
}

/** Changes what differs, and nothing above it. */
function rewrite(
  document: yaml.Document,
  path: readonly (string | number)[],
  before: unknown,
  after: unknown,
): void {
  if (canonicalJson(before) === canonicalJson(after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (const [index, item] of after.entries()) rewrite(document, [...path, index], before[index], item);
    for (let index = before.length - 1; index >= after.length; index -= 1)
      document.deleteIn([...path, index]);
  } else if (isRecord(before) && isRecord(after)) {
    for (const [key, value] of Object.entries(after)) rewrite(document, [...path, key], before[key], value);
    for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) document.deleteIn([...path, key]);
  } else {
    const node: unknown = document.getIn(path, true);
    // A scalar in its place keeps the comment behind it.
    if (yaml.isScalar(node) && typeof after === "string") node.value = after;
    else document.setIn(path, document.createNode(after));
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
