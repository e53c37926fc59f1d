import { MAX_NAMED_ORPHANS, type ObjectReport } from "#core/report.ts";

/** What a line of the log says of one orphan; whoever writes it adds whose report it was. */
export type OrphanFacts = Readonly<Record<string, unknown>>;

/** The facts of a line for each orphan that reports name; the first says how many load balancers there are where not all of them are named. */
export function orphanFacts(reports: readonly ObjectReport[]): readonly OrphanFacts[] {
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
