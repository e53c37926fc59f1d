import type { ClusterWrite, Decision, PatchOperation } from "#core/decision.ts";

/** Which policies hold; a policy only ever takes away from a decision. */
export interface AppliedPolicies {
  readonly dryRun: boolean;
  readonly labelsOnly: boolean;
}

/** A decision under the policies that hold. */
export function applyPolicies(decision: Decision, policies: AppliedPolicies): Decision {
  const narrowed = policies.labelsOnly ? labelsOnly(decision) : decision;
  return policies.dryRun ? dryRun(narrowed) : narrowed;
}

/** Says what would be written, and writes nothing, Events included. */
export function dryRun(decision: Decision): Decision {
  switch (decision.kind) {
    case "skip":
      return decision;
    case "retry":
      return { ...decision, events: [] };
    case "change": {
      const paths = decision.writes.flatMap((write) => write.patch.map(({ op, path }) => `${op} ${path}`));
      const message = `${decision.because.message}; would ${paths.join(", ")}`;
      return { kind: "skip", object: decision.object, because: { code: "DryRun", message } };
    }
  }
}

/** Keeps of a change what it does to labels, with the tests that go with it. */
export function labelsOnly(decision: Decision): Decision {
  if (decision.kind !== "change") return decision;
  const [first, ...others] = decision.writes.map(labelPartOf).filter((write) => write !== undefined);
  if (first !== undefined) return { ...decision, writes: [first, ...others], events: [] };
  const because = {
    code: "LabelsOnly",
    message: "the policy lets labels alone be written, and they are as they should be",
  };
  return { kind: "skip", object: decision.object, because };
}

function labelPartOf(write: ClusterWrite): ClusterWrite | undefined {
  const [uid, ...tests] = write.precondition;
  const [first, ...others] = write.patch.filter(isAboutLabels);
  if (first === undefined) return undefined;
  return { ...write, precondition: [uid, ...tests.filter(isAboutLabels)], patch: [first, ...others] };
}

function isAboutLabels({ path }: Pick<PatchOperation, "path">): boolean {
  return path === "/metadata/labels" || path.startsWith("/metadata/labels/");
}
