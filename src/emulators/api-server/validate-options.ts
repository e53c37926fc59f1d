import { isJsonObject } from "#emulators/api-server/object.ts";
import type { Verb } from "#emulators/api-server/request-info.ts";
import { createInvalid, type StatusCause } from "#emulators/api-server/status.ts";

/** The options of metav1 that each verb's query has. */
const OPTIONS: Readonly<Partial<Record<Verb, string>>> = {
  create: "CreateOptions",
  delete: "DeleteOptions",
  list: "ListOptions",
  patch: "PatchOptions",
  update: "UpdateOptions",
  watch: "ListOptions",
};

/** Throws the Refusal of a query's options; a deletion's count only without a body. */
export function checkQueryOptions(verb: Verb, query: URLSearchParams): void {
  const options = OPTIONS[verb];
  if (options === undefined) return;
  const causes =
    options === "ListOptions"
      ? listVersionCauses(verb === "watch", query)
      : dryRunCauses(query.getAll("dryRun"));
  refuse(options, causes);
}

/** The options in a deletion's body. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly preconditions: { readonly uid?: unknown; readonly resourceVersion?: unknown };
}

/** Reads the options in a deletion's body; throws their Refusal. */
export function readDeleteOptions(body: unknown): DeleteOptions {
  const { dryRun, propagationPolicy, preconditions } = isJsonObject(body) ? body : {};
  const stages = Array.isArray(dryRun) ? dryRun.map(String) : [];
  refuse("DeleteOptions", [...propagationCauses(propagationPolicy), ...dryRunCauses(stages)]);
  return {
    dryRun: stages.includes("All"),
    preconditions: isJsonObject(preconditions) ? preconditions : {},
  };
}

function refuse(options: string, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw createInvalid({ group: "meta.k8s.io", name: options }, "", causes);
}

function dryRunCauses(dryRun: readonly string[]): readonly StatusCause[] {
  const isSupported = dryRun.every((each) => each === "" || each === "All");
  return isSupported ? [] : [buildUnsupportedCause("dryRun", JSON.stringify(dryRun), ["All"])];
}

const POLICIES = ["Foreground", "Background", "Orphan"];

function propagationCauses(policy: unknown): readonly StatusCause[] {
  if (policy === undefined || POLICIES.includes(String(policy))) return [];
  return [buildUnsupportedCause("propagationPolicy", JSON.stringify(policy), [...POLICIES, "nil"])];
}

const MATCH = "resourceVersionMatch";

function listVersionCauses(isWatch: boolean, query: URLSearchParams): readonly StatusCause[] {
  const match = query.get(MATCH) ?? "";
  const version = query.get("resourceVersion") ?? "";
  const initialEvents = query.get("sendInitialEvents");
  if (isWatch) return watchCauses(match, initialEvents);
  const causes: StatusCause[] = [];
  if (initialEvents !== null)
    causes.push(buildForbiddenCause("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  if (match === "") return causes;
  if (version === "")
    causes.push(
      buildForbiddenCause(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
    );
  if ((query.get("continue") ?? "") !== "")
    causes.push(buildForbiddenCause(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
  if (match !== "Exact" && match !== "NotOlderThan")
    causes.push(buildUnsupportedCause(MATCH, JSON.stringify(match), ["Exact", "NotOlderThan", ""]));
  if (match === "Exact" && version === "0")
    causes.push(
      buildForbiddenCause(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    );
  return causes;
}

function watchCauses(match: string, initialEvents: string | null): readonly StatusCause[] {
  if (initialEvents === null ? match === "" : match === "NotOlderThan") return [];
  const why =
    initialEvents === null
      ? "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
      : "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
  return [
    buildForbiddenCause(MATCH, why),
    ...(match === "" || match === "NotOlderThan"
      ? []
      : [buildUnsupportedCause(MATCH, JSON.stringify(match), ["NotOlderThan"])]),
  ];
}

function buildForbiddenCause(field: string, why: string): StatusCause {
  return { reason: "FieldValueForbidden", message: `Forbidden: ${why}`, field };
}

function buildUnsupportedCause(field: string, value: string, supported: readonly string[]): StatusCause {
  const listed = supported.map((each) => JSON.stringify(each)).join(", ");
  const message = `Unsupported value: ${value}: supported values: ${listed}`;
  return { reason: "FieldValueNotSupported", message, field };
}
