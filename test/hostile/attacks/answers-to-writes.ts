import { answerWith } from "#test/hostile/answers.ts";
import type { Attack, HostileWorld } from "#test/hostile/attack.ts";

/** Nodes that are worth a write each. */
const NODES = 50;

/** Every PATCH is answered with 19 MB of brackets within brackets. */
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

/** No PATCH is ever answered. */
export const silentPatches: Attack = (world) => {
  return { begin: () => joinMachines(world), answer: (call) => call.kind === "patch" };
};

function joinMachines({ join, machines }: HostileWorld): Promise<void> {
  return join(machines.slice(0, NODES));
}
