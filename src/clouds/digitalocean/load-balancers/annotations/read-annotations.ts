import {
  buildUnknownAnnotationIssue,
  MAX_UNKNOWN,
  type Reader,
  readBoolean,
  sortAnnotations,
} from "#clouds/annotations/readers.ts";
import {
  ANNOTATION_PREFIX,
  ANNOTATIONS,
  type AnnotationSuffix,
  type Annotations,
  DISOWN_ANNOTATION,
  formatAnnotationName,
  ID_ANNOTATION,
  UUID,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { findNearest } from "#core/nearest.ts";
import type { Issue } from "#core/service/model.ts";

/** The values of the annotations, or why they cannot be applied. */
export type AnnotationsResult =
  | {
      readonly kind: "read";
      readonly annotations: Annotations;
      /** Values without effect. */
      readonly warnings: readonly Issue[];
    }
  | { readonly kind: "refused"; readonly issue: Issue };

/** Reads a Service's annotations. It reports the first invalid one by name and guesses nothing. */
export function readAnnotations(all: Readonly<Record<string, string>> = {}): AnnotationsResult {
  const values: Record<string, unknown> = {};
  const warnings: Issue[] = [];
  let unknownCount = 0;
  for (const [name, written] of sortAnnotations(all)) {
    const value = written.trim();
    const allowed = checkOther(name, value);
    if (allowed !== undefined) return buildInvalid(name, written, allowed);
    if (!name.startsWith(ANNOTATION_PREFIX)) continue;
    const suffix = name.slice(ANNOTATION_PREFIX.length);
    if (!isKnown(suffix)) {
      if (unknownCount < MAX_UNKNOWN) warnings.push(buildUnknownAnnotationIssue(name, findSimilar(suffix)));
      unknownCount += 1;
      continue;
    }
    if (value === "" && suffix !== "override-health-check") continue;
    const reader: Reader<unknown> = ANNOTATIONS[suffix];
    const read = reader(value);
    if (!read.ok) return buildInvalid(name, written, read.allowed);
    values[suffix] = read.value;
  }
  // The reader under each suffix returns the type of its value.
  const annotations = values as Annotations;
  const issue = checkAll(annotations, all);
  return issue === undefined ? { kind: "read", annotations, warnings } : { kind: "refused", issue };
}

/** Builds the issue of an annotation with an invalid value. */
export function buildInvalidAnnotation(
  suffix: AnnotationSuffix,
  all: Readonly<Record<string, string>> | undefined,
  allowed: string,
): Issue {
  const field = formatAnnotationName(suffix);
  return { code: "InvalidAnnotation", field, value: all?.[field], allowed };
}

/** Checks annotations in combination. */
function checkAll(annotations: Annotations, all: Readonly<Record<string, string>>): Issue | undefined {
  const buildIssue = (suffix: AnnotationSuffix, allowed: string): Issue =>
    buildInvalidAnnotation(suffix, all, allowed);
  const lists = (["http-ports", "tls-ports", "http2-ports"] as const).map(
    (suffix) => [suffix, annotations[suffix] ?? []] as const,
  );
  for (const [index, [suffix, ports]] of lists.entries()) {
    const earlier = lists.slice(0, index).find(([, others]) => others.some((each) => ports.includes(each)));
    if (earlier !== undefined)
      return buildIssue(suffix, `ports that ${formatAnnotationName(earlier[0])} does not name`);
  }
  const hasCertificate =
    annotations["certificate-id"] !== undefined || annotations["certificate-name"] !== undefined;
  if (annotations["tls-passthrough"] === true) {
    if (hasCertificate) return buildIssue("tls-passthrough", "false, together with a certificate");
    if (annotations["http3-port"] !== undefined)
      return buildIssue("http3-port", `none, where ${formatAnnotationName("tls-passthrough")} is true`);
  } else if (annotations["http3-port"] !== undefined && !hasCertificate) {
    return buildIssue(
      "http3-port",
      `none, without ${formatAnnotationName("certificate-id")} or ${formatAnnotationName("certificate-name")}`,
    );
  }
  if ((annotations["size-unit"] ?? 0) > 0 && annotations["size-slug"] !== undefined)
    return buildIssue("size-slug", `none, together with ${formatAnnotationName("size-unit")}`);
  if (annotations["sticky-sessions-type"] !== "cookies") return undefined;
  if (annotations["sticky-sessions-cookie-name"] === undefined)
    return buildIssue(
      "sticky-sessions-cookie-name",
      "the name of a cookie, because sessions are kept by cookies",
    );
  if (annotations["sticky-sessions-cookie-ttl"] === undefined)
    return buildIssue(
      "sticky-sessions-cookie-ttl",
      "a number of seconds, because sessions are kept by cookies",
    );
  return undefined;
}

/** Checks the two annotations with other prefixes. */
function checkOther(name: string, value: string): string | undefined {
  if (value === "") return undefined;
  if (name === DISOWN_ANNOTATION) return readBoolean(value).ok ? undefined : "true or false";
  if (name === ID_ANNOTATION) return UUID.test(value) ? undefined : "the id of a load balancer, or nothing";
  return undefined;
}

function buildInvalid(field: string, value: string, allowed: string): AnnotationsResult {
  return { kind: "refused", issue: { code: "InvalidAnnotation", field, value, allowed } };
}

function isKnown(suffix: string): suffix is AnnotationSuffix {
  return Object.hasOwn(ANNOTATIONS, suffix);
}

function findSimilar(suffix: string): string | undefined {
  const nearest = findNearest(suffix, Object.keys(ANNOTATIONS));
  return nearest && `${ANNOTATION_PREFIX}${nearest}`;
}
