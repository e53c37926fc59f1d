import { MAX_NAMED_ORPHANS, type ObjectReport } from "#core/report.ts";

/** The facts of one orphan in a log line; the writer adds the report that contained it. */
export type OrphanFacts = Readonly<Record<string, unknown>>;

/**
 * Returns the facts of a log line for each orphan named in reports. The first line has the number of load
 * balancers if not all are named.
 */
export function buildOrphanFacts(reports: readonly ObjectReport[]): readonly OrphanFacts[] {
  return reports.flatMap(({ orphans: { count, named } = NONE }) =>
    named.slice(0, MAX_NAMED_ORPHANS).map((orphan, index): OrphanFacts => {
      const { kind, id: target, service, code, since, deletedFrom } = orphan;
      const [namespace, name] = service.split("/");
      const facts = { kind, target, namespace, name, code, since, deletedFrom };
      const all = index === 0 && count > named.length ? { count } : {};
      return { ...facts, ...all };
    }),
  );
}

const NONE: NonNullable<ObjectReport["orphans"]> = { count: 0, named: [] };
