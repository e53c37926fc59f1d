import { createPrivateKey } from "node:crypto";
import { expect } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { createOciApis } from "#clouds/oci/api.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import { createLoadBalancers } from "#clouds/oci/load-balancers/capability.ts";
import { ociLoadBalancerModel } from "#clouds/oci/load-balancers/model.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { LoadBalancerAction, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";
import { API_KEY } from "#test/clouds/oci/fake/credentials.ts";
import { buildCloudConfig, type FakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildSettings, CLUSTER } from "#test/clouds/oci/load-balancers/service.ts";

/** The result of a Service: the steps that ended each round, and all actions. */
export interface PlayResult {
  readonly end: LoadBalancerStep;
  readonly actions: readonly string[];
  readonly rounds: number;
}

/**
 * A cluster on an account of the fake, with decisions as in the service function and without an API server.
 */
export interface Player {
  readonly settings: Settings;
  /** The instances' answers; by default a node's address is made of its number. */
  answers: ReadonlyMap<string, InstanceAnswer>;
  /** Observes and acts until the cloud must be waited for, or nothing is left to do. */
  round(question: LoadBalancerQuestion): Promise<PlayResult>;
  /** Runs rounds until no wait is left; fails after more than `limit`. */
  settle(question: LoadBalancerQuestion, limit?: number): Promise<PlayResult>;
  /**
   * Runs rounds that follow the nodes while a setting is rejected, until nothing is left; undefined if the
   * model leaves them alone.
   */
  follow(question: LoadBalancerQuestion): Promise<readonly LoadBalancerAction[] | undefined>;
  close(): void;
}

const CALL = { signal: new AbortController().signal, share: 1 };

export function createPlayer(account: FakeAccount, more: Readonly<Record<string, unknown>> = {}): Player {
  const cloud = { ...buildCloudConfig(account, "unused", API_KEY.fingerprint), ...more };
  const config = OciCloudConfig.parse(cloud);
  const key = createPrivateKey(API_KEY.pem);
  const apis = createOciApis(config, async () => key, {
    sleep: async () => {},
    now: () => performance.now(),
    wallClock: Date.now,
    random: Math.random,
  });
  const instances: Cloud["instances"] = async (nodes) => ({
    answers: nodes.map(({ spec }) => {
      const id = spec.providerID?.replace("oci://", "") ?? "";
      return player.answers.get(id) ?? buildFoundAnswer(id);
    }),
    usage: { calls: { Instances: 1 }, throttled: 0, waitedMs: 0 },
  });
  const capability = createLoadBalancers({
    ...{ config, cluster: CLUSTER, apis, enter: createInvocationShares(apis) },
    ...{ instances, wallClock: Date.now },
  });
  const ofPlayer = buildSettings(cloud);
  const player: Player = {
    settings: ofPlayer,
    answers: new Map(),
    async round(question) {
      const actions: string[] = [];
      const before = ociLoadBalancerModel.precheck(question, ofPlayer);
      if (before !== undefined) return { end: before, actions, rounds: 1 };
      const { answers } = await capability.observe([question], CALL);
      const [answer] = answers;
      if (answer?.kind !== "observed") throw new Error(`observed: ${JSON.stringify(answer)}`);
      let state: unknown = JSON.parse(JSON.stringify(answer.state));
      for (let steps = 0; steps < 50; steps += 1) {
        const step = ociLoadBalancerModel.planStep(question, state, ofPlayer);
        if (step.kind !== "act") return { end: step, actions, rounds: 1 };
        for (const action of step.actions) {
          const precondition = { uid: question.service.metadata.uid, deleting: false };
          const done = await capability.act(
            { on: "cloud", capability: "loadBalancers", ...action, precondition },
            CALL,
          );
          if (done.answer.kind !== "done")
            throw new Error(`${action.action}: ${JSON.stringify(done.answer)}`);
          actions.push(action.action);
          state = ociLoadBalancerModel.applyResult(state, action, done.answer.result);
        }
      }
      throw new Error(`no end of it: ${actions.join(", ")}`);
    },
    async settle(question, limit = 60) {
      const actions: string[] = [];
      for (let rounds = 1; rounds <= limit; rounds += 1) {
        const played = await player.round(question);
        actions.push(...played.actions);
        if (played.end.kind !== "wait") return { end: played.end, actions, rounds };
      }
      throw new Error(`it is waited for still: ${actions.join(", ")}`);
    },
    async follow({ service, nodes }) {
      const question = { service, nodes, wanted: true, onlyTargets: true } as const;
      const sent: LoadBalancerAction[] = [];
      for (let rounds = 0; rounds < 20; rounds += 1) {
        const { answers } = await capability.observe([question], CALL);
        const [answer] = answers;
        if (answer?.kind !== "observed") throw new Error(`observed: ${JSON.stringify(answer)}`);
        const state: unknown = JSON.parse(JSON.stringify(answer.state));
        const actions = ociLoadBalancerModel.followNodes?.(question, state, ofPlayer);
        if (actions === undefined) return undefined;
        if ("kind" in actions) continue;
        if (actions.length === 0) return sent;
        const [action, ...others] = actions;
        if (action === undefined || others.length > 0) throw new Error("OCI takes one change at a time");
        const precondition = { uid: service.metadata.uid, deleting: false };
        const whole = { on: "cloud", capability: "loadBalancers", ...action, precondition } as const;
        const done = await capability.act(whole, CALL);
        if (done.answer.kind !== "done") throw new Error(JSON.stringify(done.answer));
        const folded = ociLoadBalancerModel.applyResult(state, action, done.answer.result);
        expect(ociLoadBalancerModel.followNodes?.(question, folded, ofPlayer)).toMatchObject({
          kind: "wait",
        });
        sent.push(action);
      }
      throw new Error("the nodes are followed for ever");
    },
    close: () => apis.close(),
  };
  return player;
}

/** Builds the answer for an instance with the name `…iN`: it runs at 10.0.0.N. */
export function buildFoundAnswer(id: string): InstanceAnswer {
  const number = /\d+$/.exec(id)?.[0] ?? "1";
  return {
    kind: "found",
    instance: {
      ...{
        id,
        account: "a",
        network: "n",
        state: "running",
        providerID: `oci://${id}`,
        type: "",
        zone: "",
        region: "",
      },
      addresses: [
        { type: "InternalIP", address: `10.0.0.${number}` },
        { type: "ExternalIP", address: `2603:c020::1:${number}` },
      ],
      labels: {},
    },
  };
}
