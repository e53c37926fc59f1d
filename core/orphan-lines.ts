import { MAX_NAMED_ORPHANS, type ObjectReport } from "#core/report.ts";

/** What a line of the log says of one orphan; whoever writes it adds whose report it was. */
export interface OrphanLine {
  readonly level: "warn";
  readonly event: "OrphanedLoadBalancer";
  readonly [fact: string]: unknown;
}

/** A line for each orphan that reports name; the first says how many load balancers there are where not all of them are named. */
export function orphanLines(reports: readonly ObjectReport[]): readonly OrphanLine[] {
  return reports.flatMap(({ orphans: { count, named } = NONE }) =>
    named.slice(0, MAX_NAMED_ORPHANS).map((orphan, index): OrphanLine => {
      const { kind, id: target, service, code, since, deletedFrom } = orphan;
      const [namespace, name] = service.split("/");
      const facts = { kind, target, namespace, name, code, since, deletedFrom };
      const all = index === 0 && count > named.length ? { count } : {};
      return { level: "warn", event: "OrphanedLoadBalancer", ...facts, ...all };
    }),
  );
}

const NONE: NonNullable<ObjectReport["orphans"]> = { count: 0, named: [] };
