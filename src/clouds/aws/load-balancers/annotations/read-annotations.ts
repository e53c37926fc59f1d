import { buildUnknownAnnotationIssue, MAX_UNKNOWN, sortAnnotations } from "#clouds/annotations/readers.ts";
import {
  ANNOTATIONS,
  type Annotation,
  type AnnotationSuffix,
  type Annotations,
  type LoadBalancerKind,
} from "#clouds/aws/load-balancers/annotations/table.ts";
import { findNearest } from "#core/nearest.ts";
import type { Issue } from "#core/service/model.ts";

/** Prefix of all annotation names except that of source ranges. */
export const ANNOTATION_PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

/** Formats an annotation's full name. */
export function formatAnnotationName(suffix: AnnotationSuffix): string {
  return `${ANNOTATION_PREFIX}${suffix}`;
}

/** The values of the annotations, or why they cannot be applied. */
export type AnnotationsResult =
  | {
      readonly kind: "read";
      readonly annotations: Annotations;
      /** Values without effect. */
      readonly warnings: readonly Issue[];
    }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Reads a Service's annotations for a load balancer of a type. It reports the first invalid one by name and
 * guesses nothing.
 */
export function readAnnotations(
  kind: LoadBalancerKind,
  all: Readonly<Record<string, string>> | undefined,
): AnnotationsResult {
  const { annotations, warnings, issues } = readEach(kind, all);
  const issue = issues[0] ?? checkAccessLogs(annotations);
  return issue === undefined ? { kind: "read", annotations, warnings } : { kind: "refused", issue };
}

/** The valid annotations of a Service, of which others may be invalid. */
export interface ValidAnnotations {
  readonly annotations: Annotations;
  /** The names of invalid annotations. */
  readonly invalid: ReadonlySet<string>;
}

/** Reads the valid annotations of a Service. */
export function readValidAnnotations(
  kind: LoadBalancerKind,
  all: Readonly<Record<string, string>> | undefined,
): ValidAnnotations {
  const { annotations, issues } = readEach(kind, all);
  return { annotations, invalid: new Set(issues.map(({ field }) => field)) };
}

interface EachResult {
  readonly annotations: Annotations;
  readonly warnings: readonly Issue[];
  /** Sorted by annotation name. */
  readonly issues: readonly (Issue & { readonly field: string })[];
}

function readEach(kind: LoadBalancerKind, all: Readonly<Record<string, string>> | undefined): EachResult {
  const values: Record<string, unknown> = {};
  const warnings: Issue[] = [];
  const issues: (Issue & { readonly field: string })[] = [];
  let unknown = 0;
  for (const [name, written] of sortAnnotations(all)) {
    if (!name.startsWith(ANNOTATION_PREFIX)) continue;
    const suffix = name.slice(ANNOTATION_PREFIX.length);
    if (!isKnown(suffix)) {
      if (unknown < MAX_UNKNOWN) warnings.push(buildUnknownAnnotationIssue(name, findSimilar(suffix)));
      unknown += 1;
      continue;
    }
    if (written === "" && suffix !== "subnets") continue;
    const annotation: Annotation<unknown> = ANNOTATIONS[suffix];
    const read = annotation[kind]?.(written);
    if (read === undefined) {
      const issue = buildOtherKindWarning(kind, name, written);
      if (annotation.refusedElsewhere) issues.push(issue);
      else warnings.push(issue);
    } else if (read.ok) {
      if (read.value !== undefined) values[suffix] = read.value;
    } else {
      issues.push({ code: read.code, field: name, value: written, allowed: read.allowed });
    }
  }
  // The reader under each suffix returns the type of its value.
  return { annotations: values as Annotations, warnings, issues };
}

/** Builds the issue of an annotation with an invalid value. */
export function buildInvalidAnnotation(
  suffix: AnnotationSuffix,
  written: string | undefined,
  allowed: string,
): Issue {
  return { code: "InvalidAnnotation", field: formatAnnotationName(suffix), value: written, allowed };
}

function isKnown(suffix: string): suffix is AnnotationSuffix {
  return Object.hasOwn(ANNOTATIONS, suffix);
}

function findSimilar(suffix: string): string | undefined {
  const nearest = findNearest(suffix, Object.keys(ANNOTATIONS));
  return nearest && `${ANNOTATION_PREFIX}${nearest}`;
}

function buildOtherKindWarning(kind: LoadBalancerKind, field: string, value: string) {
  const allowed =
    kind === "classic"
      ? `nothing, unless ${formatAnnotationName("type")} is nlb: it is for network load balancers`
      : "nothing: it is for classic load balancers";
  return { code: "UnsupportedAnnotation", field, value, allowed };
}

/** AWS rejects logs without a bucket. */
function checkAccessLogs(annotations: Annotations): Issue | undefined {
  if (annotations["access-log-enabled"] !== true) return undefined;
  if (annotations["access-log-s3-bucket-name"] !== undefined) return undefined;
  return buildInvalidAnnotation(
    "access-log-s3-bucket-name",
    undefined,
    `the name of an S3 bucket, because ${formatAnnotationName("access-log-enabled")} is true`,
  );
}
