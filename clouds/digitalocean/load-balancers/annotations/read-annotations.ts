import {
  boolean,
  inOrder,
  MAX_UNKNOWN,
  type Reader,
  unknownAnnotation,
} from "#clouds/annotations/reading.ts";
import {
  ANNOTATION_PREFIX,
  annotationName,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import {
  ANNOTATIONS,
  type AnnotationSuffix,
  type Annotations,
  UUID,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { nearest } from "#core/nearest.ts";
import type { Problem } from "#core/service/model.ts";

/** What the annotations say, or why they cannot be carried out. */
export type ReadAnnotations =
  | {
      readonly kind: "read";
      readonly annotations: Annotations;
      /** What is said to no effect. */
      readonly warnings: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads a Service's annotations. The first fault by name is told; nothing is guessed. */
export function readAnnotations(all: Readonly<Record<string, string>> = {}): ReadAnnotations {
  const said: Record<string, unknown> = {};
  const warnings: Problem[] = [];
  let unknown = 0;
  for (const [name, written] of inOrder(all)) {
    const value = written.trim();
    const fault = faultOfOther(name, value);
    if (fault !== undefined) return invalid(name, written, fault);
    if (!name.startsWith(ANNOTATION_PREFIX)) continue;
    const suffix = name.slice(ANNOTATION_PREFIX.length);
    if (!isKnown(suffix)) {
      if (unknown < MAX_UNKNOWN) warnings.push(unknownAnnotation(name, meant(suffix)));
      unknown += 1;
      continue;
    }
    if (value === "" && suffix !== "override-health-check") continue;
    const reader: Reader<unknown> = ANNOTATIONS[suffix];
    const read = reader(value);
    if (!read.ok) return invalid(name, written, read.allowed);
    said[suffix] = read.value;
  }
  // Each value was read by the reader that stands under its suffix.
  const annotations = said as Annotations;
  const problem = faultOfAll(annotations, all);
  return problem === undefined ? { kind: "read", annotations, warnings } : { kind: "refused", problem };
}

/** That an annotation says what it may not. */
export function invalidAnnotation(
  suffix: AnnotationSuffix,
  all: Readonly<Record<string, string>> | undefined,
  allowed: string,
): Problem {
  const field = annotationName(suffix);
  return { code: "InvalidAnnotation", field, value: all?.[field], allowed };
}

/** What may not stand beside one another. */
function faultOfAll(annotations: Annotations, all: Readonly<Record<string, string>>): Problem | undefined {
  const wrong = (suffix: AnnotationSuffix, allowed: string): Problem =>
    invalidAnnotation(suffix, all, allowed);
  const lists = (["http-ports", "tls-ports", "http2-ports"] as const).map(
    (suffix) => [suffix, annotations[suffix] ?? []] as const,
  );
  for (const [index, [suffix, here]] of lists.entries()) {
    const before = lists.slice(0, index).find(([, there]) => there.some((each) => here.includes(each)));
    if (before !== undefined) return wrong(suffix, `ports that ${annotationName(before[0])} does not name`);
  }
  const hasCertificate =
    annotations["certificate-id"] !== undefined || annotations["certificate-name"] !== undefined;
  if (annotations["tls-passthrough"] === true) {
    if (hasCertificate) return wrong("tls-passthrough", "false, beside a certificate");
    if (annotations["http3-port"] !== undefined)
      return wrong("http3-port", `none, where ${annotationName("tls-passthrough")} is true`);
  } else if (annotations["http3-port"] !== undefined && !hasCertificate) {
    return wrong(
      "http3-port",
      `none, without ${annotationName("certificate-id")} or ${annotationName("certificate-name")}`,
    );
  }
  if ((annotations["size-unit"] ?? 0) > 0 && annotations["size-slug"] !== undefined)
    return wrong("size-slug", `none, beside ${annotationName("size-unit")}`);
  if (annotations["sticky-sessions-type"] !== "cookies") return undefined;
  if (annotations["sticky-sessions-cookie-name"] === undefined)
    return wrong("sticky-sessions-cookie-name", "the name of a cookie, as sessions are kept by cookies");
  if (annotations["sticky-sessions-cookie-ttl"] === undefined)
    return wrong("sticky-sessions-cookie-ttl", "a number of seconds, as sessions are kept by cookies");
  return undefined;
}

/** Of the two that begin otherwise. */
function faultOfOther(name: string, value: string): string | undefined {
  if (value === "") return undefined;
  if (name === DISOWN_ANNOTATION) return boolean(value).ok ? undefined : "true or false";
  if (name === ID_ANNOTATION) return UUID.test(value) ? undefined : "the id of a load balancer, or nothing";
  return undefined;
}

function invalid(field: string, value: string, allowed: string): ReadAnnotations {
  return { kind: "refused", problem: { code: "InvalidAnnotation", field, value, allowed } };
}

function isKnown(suffix: string): suffix is AnnotationSuffix {
  return Object.hasOwn(ANNOTATIONS, suffix);
}

function meant(suffix: string): string | undefined {
  const known = nearest(suffix, Object.keys(ANNOTATIONS));
  return known && `${ANNOTATION_PREFIX}${known}`;
}
