import {
  type HostileBenchOptions,
  measurePhase,
  readMachineFacts,
  startWell,
} from "#bench/hostile/measure.ts";
import type { RoundResults } from "#bench/hostile/measurement.ts";
import type { RelayUnderAttack } from "#bench/hostile/relay-under-attack.ts";
import { setHostileBenchStage } from "#bench/hostile/stage.ts";

export interface RoundsOptions extends Omit<HostileBenchOptions, "onResults"> {
  /** The number of measurements of each attack, each next to its null sink. */
  readonly rounds: number;
  /** Called with all results so far, after each pair. */
  readonly onResults: (results: RoundResults) => Promise<void>;
}

/**
 * Measures each attack and its null sink in succession, round by round, so that other load on the machine
 * affects both. The order within a pair and of the attacks changes from round to round.
 */
export async function measureRounds(options: RoundsOptions): Promise<RoundResults> {
  const { clusters, nodesEach, rate, seconds, bytesPerSecond, version, attacks, say, signal } = options;
  const facts = { ...readMachineFacts(), version, clusters, nodesEach, rate, seconds, bytesPerSecond };
  const pairs: RoundResults["pairs"] = [];
  const stage = await setHostileBenchStage(options);
  const world = { stage, options };
  let relay: RelayUnderAttack | undefined;
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      for (let turn = 0; turn < attacks.length; turn += 1) {
        const attack = attacks[(turn + round) % attacks.length] ?? "";
        const measured = new Map<string, Awaited<ReturnType<typeof measurePhase>>>();
        const kinds = [`sink ${attack}`, attack];
        for (const name of round % 2 === 0 ? kinds : kinds.toReversed()) {
          signal.throwIfAborted();
          if (relay === undefined || relay.hasEnded()) relay = await startWell(world);
          const phase = await measurePhase(name, relay, world);
          say(JSON.stringify(phase));
          if (phase.ended) say(`the relay ended: ${relay.lastWords()}`);
          measured.set(name, phase);
        }
        const [sink, attacked] = kinds.map((name) => measured.get(name));
        if (sink === undefined || attacked === undefined) throw new Error(`${attack} was not measured`);
        pairs.push({ round: round + 1, attack, sink, attacked });
        await options.onResults({ ...facts, pairs });
      }
    }
    return { ...facts, pairs };
  } finally {
    await relay?.stop();
    await stage.close();
  }
}
