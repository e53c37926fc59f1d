import { inOrder, MAX_UNKNOWN, unknownAnnotation } from "#clouds/annotations/reading.ts";
import {
  ANNOTATIONS,
  type Annotation,
  type AnnotationSuffix,
  type Annotations,
  type LoadBalancerKind,
} from "#clouds/aws/load-balancers/annotations/table.ts";
import { nearest } from "#core/nearest.ts";
import type { Problem } from "#core/service/model.ts";

/** How the names of all annotations but that of source ranges begin. */
export const ANNOTATION_PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

/** An annotation's whole name. */
export function annotationName(suffix: AnnotationSuffix): string {
  return `${ANNOTATION_PREFIX}${suffix}`;
}

/** What the annotations say, or why they cannot be carried out. */
export type ReadAnnotations =
  | {
      readonly kind: "read";
      readonly annotations: Annotations;
      /** What is said to no effect. */
      readonly warnings: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads a Service's annotations for a load balancer of a kind. The first fault by name is told; nothing is guessed. */
export function readAnnotations(
  kind: LoadBalancerKind,
  all: Readonly<Record<string, string>> | undefined,
): ReadAnnotations {
  const { annotations, warnings, problems } = readEach(kind, all);
  const problem = problems[0] ?? faultOfAccessLogs(annotations);
  return problem === undefined ? { kind: "read", annotations, warnings } : { kind: "refused", problem };
}

/** Annotations of a Service of which others may be refused. */
export interface ValidAnnotations {
  readonly annotations: Annotations;
  /** The names of those that are written and cannot be read. */
  readonly invalid: ReadonlySet<string>;
}

/** Reads those of a Service's annotations that can be read. */
export function readValidAnnotations(
  kind: LoadBalancerKind,
  all: Readonly<Record<string, string>> | undefined,
): ValidAnnotations {
  const { annotations, problems } = readEach(kind, all);
  return { annotations, invalid: new Set(problems.map(({ field }) => field)) };
}

interface ReadEach {
  readonly annotations: Annotations;
  readonly warnings: readonly Problem[];
  /** In the order of the annotations' names. */
  readonly problems: readonly (Problem & { readonly field: string })[];
}

function readEach(kind: LoadBalancerKind, all: Readonly<Record<string, string>> | undefined): ReadEach {
  const said: Record<string, unknown> = {};
  const warnings: Problem[] = [];
  const problems: (Problem & { readonly field: string })[] = [];
  let unknown = 0;
  for (const [name, written] of inOrder(all)) {
    if (!name.startsWith(ANNOTATION_PREFIX)) continue;
    const suffix = name.slice(ANNOTATION_PREFIX.length);
    if (!isKnown(suffix)) {
      if (unknown < MAX_UNKNOWN) warnings.push(unknownAnnotation(name, meant(suffix)));
      unknown += 1;
      continue;
    }
    if (written === "" && suffix !== "subnets") continue;
    const annotation: Annotation<unknown> = ANNOTATIONS[suffix];
    const read = annotation[kind]?.(written);
    if (read === undefined) {
      const problem = ofOtherKind(kind, name, written);
      if (annotation.refusedElsewhere) problems.push(problem);
      else warnings.push(problem);
    } else if (read.ok) {
      if (read.value !== undefined) said[suffix] = read.value;
    } else {
      problems.push({ code: read.code, field: name, value: written, allowed: read.allowed });
    }
  }
  // Each value was read by the reader that stands under its suffix.
  return { annotations: said as Annotations, warnings, problems };
}

/** That an annotation says what it may not. */
export function invalidAnnotation(
  suffix: AnnotationSuffix,
  written: string | undefined,
  allowed: string,
): Problem {
  return { code: "InvalidAnnotation", field: annotationName(suffix), value: written, allowed };
}

function isKnown(suffix: string): suffix is AnnotationSuffix {
  return Object.hasOwn(ANNOTATIONS, suffix);
}

function meant(suffix: string): string | undefined {
  const known = nearest(suffix, Object.keys(ANNOTATIONS));
  return known && `${ANNOTATION_PREFIX}${known}`;
}

function ofOtherKind(kind: LoadBalancerKind, field: string, value: string) {
  const allowed =
    kind === "classic"
      ? `nothing, unless ${annotationName("type")} is nlb: it is for network load balancers`
      : "nothing: it is for classic load balancers";
  return { code: "UnsupportedAnnotation", field, value, allowed };
}

/** AWS refuses logs without a bucket. */
function faultOfAccessLogs(annotations: Annotations): Problem | undefined {
  if (annotations["access-log-enabled"] !== true) return undefined;
  if (annotations["access-log-s3-bucket-name"] !== undefined) return undefined;
  return invalidAnnotation(
    "access-log-s3-bucket-name",
    undefined,
    `the name of an S3 bucket, because ${annotationName("access-log-enabled")} is true`,
  );
}
