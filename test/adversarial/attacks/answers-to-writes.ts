import { answerWith } from "#test/adversarial/answers.ts";
import type { Attack, HostileWorld } from "#test/adversarial/attack.ts";

/** Nodes that each need a write. */
const NODES = 50;

/** Answers every PATCH with 19 MB of nested brackets. */
export const nestedAnswers: Attack = (world) => {
  const body = Buffer.concat([
    Buffer.from('{"kind":"Node","metadata":'),
    Buffer.alloc(9_500_000, "["),
    Buffer.alloc(9_500_000, "]"),
    Buffer.from("}"),
  ]);
  return {
    begin: () => joinMachines(world),
    answer: (call) => call.kind === "patch" && answerWith(call, body),
  };
};

/** Never answers a PATCH. */
export const silentPatches: Attack = (world) => {
  return { begin: () => joinMachines(world), answer: (call) => call.kind === "patch" };
};

function joinMachines({ join, machines }: HostileWorld): Promise<void> {
  return join(machines.slice(0, NODES));
}
