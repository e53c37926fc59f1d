import type { AnswerShape } from "#test/emulators/comparison/shape.ts";
import type { Step } from "#test/emulators/comparison/steps.ts";

/** A difference of the embedded server that stays, and why. */
interface KnownDifference {
  readonly because: string;
  readonly applies: (step: Step, real: AnswerShape, embedded: AnswerShape) => boolean;
}

const isError = ({ status }: AnswerShape): boolean => status >= 400;
const differOnlyIn = (real: AnswerShape, embedded: AnswerShape, field: RegExp): boolean =>
  real.status === embedded.status &&
  real.reason === embedded.reason &&
  listDifferences(real, embedded).every((line) => field.test(line));

const KNOWN: readonly KnownDifference[] = [
  {
    because:
      "custom resources are served by another handler, whose errors have other details and another order",
    applies: ({ resource }, real, embedded) =>
      resource === "nodeclaims" && isError(real) && isError(embedded),
  },
  {
    because: "the embedded server counts no generation of custom resources: our code reads none",
    applies: ({ resource }, real, embedded) =>
      resource === "nodeclaims" &&
      differOnlyIn(real, embedded, /^- (?:\/items\/\d+)?\/metadata\/generation /),
  },
  {
    because: "an empty list of custom resources has an empty continue token",
    applies: ({ kind, resource }, real, embedded) =>
      kind === "list" &&
      resource === "nodeclaims" &&
      differOnlyIn(real, embedded, /^- \/metadata\/continue string$/),
  },
  {
    because: "tables of kinds other than Node have only the columns that the demo and the sandbox show",
    applies: (step, real, embedded) =>
      "accept" in step &&
      step.accept === "table" &&
      step.resource !== "nodes" &&
      differOnlyIn(real, embedded, /^[-+] \/(?:columnDefinitions|rows\/\d+\/cells)\//),
  },
  {
    because: "the approval of a certificate request knows no tables and no partial objects",
    applies: (step, real, embedded) =>
      step.kind === "patch" &&
      step.subresource === "/approval" &&
      real.reason === "NotAcceptable" &&
      isError(embedded),
  },
  {
    because: "of two faults in a list's query the servers may name different ones first",
    applies: (step, real, embedded) => step.kind === "list" && isError(real) && isError(embedded),
  },
  {
    because: "the real server names an immutable uid twice",
    applies: (step, real, embedded) =>
      step.kind === "patch" &&
      step.change === "uid" &&
      differOnlyIn(real, embedded, /^- \/details\/causes\/1\//),
  },
  {
    because: "a Service that an update of its status creates gets no addresses",
    applies: (step, real, embedded) =>
      step.kind === "update" &&
      step.resource === "services" &&
      step.subresource === "/status" &&
      differOnlyIn(real, embedded, /^\+ \/spec\//),
  },
];

/** Returns why the two answers to a step may differ; undefined if nothing explains it. */
export function explainDifference(step: Step, real: AnswerShape, embedded: AnswerShape): string | undefined {
  return KNOWN.find(({ applies }) => applies(step, real, embedded))?.because;
}

/** Returns what only the real answer has (`-`) and what only the embedded one has (`+`). */
export function listDifferences(real: AnswerShape, embedded: AnswerShape): readonly string[] {
  const [theirs, ours] = [new Set(real.fields), new Set(embedded.fields)];
  const outcome = ({ status, reason }: AnswerShape): string => `${status} ${reason ?? ""}`.trim();
  return [
    ...(outcome(real) === outcome(embedded) ? [] : [`- ${outcome(real)}`, `+ ${outcome(embedded)}`]),
    ...real.fields.filter((field) => !ours.has(field)).map((field) => `- ${field}`),
    ...embedded.fields.filter((field) => !theirs.has(field)).map((field) => `+ ${field}`),
  ];
}
