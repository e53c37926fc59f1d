import type { RawAnswer } from "#test/emulators/comparison/raw-request.ts";

/** The comparable parts of an answer: status, reason, and the shape of its JSON. */
export interface AnswerShape {
  readonly status: number;
  readonly reason: string | undefined;
  /** Each field's path with its value; volatile values are only named by their type. */
  readonly fields: readonly string[];
}

/** Values that two servers choose by themselves, by the end of their path. */
const VOLATILE =
  /\/(?:uid|resourceVersion|creationTimestamp|deletionTimestamp|continue|clusterIP|clusterIPs\/\d+|nodePort|healthCheckNodePort|message|cells\/\d+|last(?:Update|Transition)Time|username|groups\/\d+|name)$/;

/**
 * Fields in which the embedded server differs on purpose: its managedFields are coarser, its discovery names only what
 * it serves, its rules only what infra/rbac/ grants, and its tables have no descriptions.
 */
const OMITTED =
  /\/(?:managedFields|columnDefinitions\/\d+\/description|serverAddressByClientCIDRs|status\/(?:resource|nonResource)Rules)$|^\/(?:groups|resources)$/;

/** Returns the shape of each event of a watch, with its type. */
export function describeEvents({ status, contentType, body }: RawAnswer): readonly AnswerShape[] {
  if (status !== 200) return [describeShape({ status, contentType, body })];
  const lines = body.split("\n").filter((line) => line !== "");
  return lines.map((line) => describeShape({ status, contentType, body: line }));
}

/** Returns the shape of an answer. */
export function describeShape({ status, contentType, body }: RawAnswer): AnswerShape {
  const value = parse(body);
  if (value === undefined) return { status, reason: undefined, fields: [`${contentType}`] };
  const fields: string[] = [];
  collect(value, "", fields);
  const { reason } = (value ?? {}) as { readonly reason?: string };
  return { status, reason: isStatus(value) ? (reason ?? "") : undefined, fields: fields.sort() };
}

function isStatus(value: unknown): boolean {
  return (value as { readonly kind?: unknown } | null)?.kind === "Status";
}

function collect(value: unknown, path: string, fields: string[]): void {
  if (Array.isArray(value)) {
    if (value.length === 0) fields.push(`${path} []`);
    value.forEach((item, index) => {
      collect(item, `${path}/${index}`, fields);
    });
  } else if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([name]) => !OMITTED.test(`${path}/${name}`));
    if (members.length === 0) fields.push(`${path} {}`);
    for (const [name, member] of members) collect(member, `${path}/${name.replaceAll("/", "~1")}`, fields);
  } else fields.push(`${path} ${VOLATILE.test(path) ? typeof value : JSON.stringify(value)}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
