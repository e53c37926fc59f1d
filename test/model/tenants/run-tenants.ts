import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Capability } from "#clouds/cloud.ts";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { Controller } from "#core/controller.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { ModelCloud } from "../cloud.ts";
import { createInProcessCluster } from "../cluster.ts";
import { comeToRest } from "../rest.ts";
import { createVirtualClock } from "../virtual-clock.ts";
import { createWorld, START_MS, type World } from "../world.ts";
import { getOwnerTag, type TenantAccount } from "./account.ts";
import {
  describeTenantStep,
  type ForgedUid,
  MACHINES_PER_TENANT,
  SERVICE_NAMES,
  type TenantStep,
} from "./history.ts";
import { buildView, createHostileApi, type HostileApi } from "./hostile-api.ts";
import { HOSTILE_MAX, type TenantScenario } from "./tenant-scenarios.ts";

/**
 * The result of a history of two tenants. It has no faults if the hostile tenant reached no resource of the
 * victim.
 */
export interface TenantOutcome {
  readonly faults: readonly string[];
  readonly log: readonly string[];
  /** Changes of the cloud by the hostile tenant's invocations. */
  readonly hostileChanges: number;
  readonly victimChanges: number;
}

/** The most changes of the cloud in one invocation of the hostile tenant: 40 for each of its Services. */
const CHANGES_PER_INVOCATION = 40 * SERVICE_NAMES.length;

const REST_LIMIT_MS = 8 * 60_000;

/**
 * Runs the history, and checks after each request of the hostile tenant that the victim's resources are
 * unchanged.
 */
export async function runTenants(
  scenario: TenantScenario,
  steps: readonly TenantStep[],
): Promise<TenantOutcome> {
  const clock = createVirtualClock(START_MS);
  const account = scenario.createAccount(() => clock.now());
  const faults: string[] = [];
  const log: string[] = [];
  const note = (line: string): void => void log.push(line);
  let hostileChanges = 0;

  /** Compares the victim's resources before and after each request of the hostile tenant. */
  const watched = (inner: Capability): Capability => ({
    observe: inner.observe,
    async act(action, call) {
      const before = account.victims();
      const result = await inner.act(action, call);
      hostileChanges += 1;
      note(`evil ${action.action} ${action.target}: ${result.answer.kind}`);
      faults.push(
        ...differences(before, account.victims()).map(
          (line) => `${action.action} changes the victim's: ${line}`,
        ),
        ...account.trespasses().map((line) => `${action.action} uses the victim's: ${line}`),
      );
      return result;
    },
  });

  let api: HostileApi | undefined;
  const victimsProviderIDs = account.providerIDs.slice(0, MACHINES_PER_TENANT);
  const victim = await createWorld(
    { ...scenario.victim, createCloud: () => cloudOf(account, account.capabilities("victim")) },
    clock,
  );
  const capabilities = Object.entries(account.capabilities("evil"));
  const evil = await createWorld(
    {
      ...scenario.evil,
      createCloud: () =>
        cloudOf(account, Object.fromEntries(capabilities.map(([name, each]) => [name, watched(each)]))),
      async createCluster() {
        const cluster = createInProcessCluster(clock, CONTROL_PLANE_USERS[scenario.evil.signedInAs]);
        api = createHostileApi(cluster.transport, victimsProviderIDs);
        return { ...cluster, transport: api.transport };
      },
    },
    clock,
  );
  if (api === undefined) throw new Error("the hostile tenant has no API server");
  const audits =
    scenario.audit === undefined
      ? undefined
      : {
          victim: await createAudit(victim, scenario.audit),
          evil: await createAudit(evil, scenario.audit),
        };
  const player = createTenantPlayer({ victim, evil, audits, api, account, note });
  for (const step of steps) {
    await clock.advance(step.afterMs);
    note(describeTenantStep(step));
    const changes = evil.network.counts.get("cloud change") ?? 0;
    await player.play(step);
    const made = (evil.network.counts.get("cloud change") ?? 0) - changes;
    const times = step.do === "attack" ? step.times : 1;
    if (made > times * CHANGES_PER_INVOCATION) faults.push(`one invocation changes the cloud ${made} times`);
    const count = account.countLoadBalancers("evil");
    if (count > HOSTILE_MAX)
      faults.push(`the hostile tenant has ${count} load balancers, more than ${HOSTILE_MAX}`);
    faults.push(...(account.throttles?.("victim") ?? []));
    if (faults.length > 0) break;
  }
  // The check for rest invokes every few seconds, without a relay's growing back-off.
  account.liftQuotas?.();
  if (faults.length === 0) faults.push(...(await restOf(victim, player.squatted())));
  return {
    // The results for the hostile tenant's own objects, and the load of its own API server, do not matter.
    // Its calls of the cloud count.
    faults: [
      ...faults,
      ...victim.violations,
      ...evil.violations.filter((line) => line.includes("the cloud")),
      ...(audits?.victim.violations ?? []),
      ...(audits?.evil.violations ?? []).filter((line) => line.includes("the cloud")),
    ],
    log,
    hostileChanges,
    victimChanges: victim.network.counts.get("cloud change") ?? 0,
  };
}

/** Returns the problems of the victim's objects when its actor alone has come to rest. */
async function restOf(victim: World, squatted: ReadonlySet<string>): Promise<string[]> {
  const reacted = await comeToRest(victim, "react", REST_LIMIT_MS);
  const audited = await comeToRest(victim, "audit", REST_LIMIT_MS);
  const { services } = await victim.cluster.view();
  const isServing = victim.cloud.capabilities["loadBalancers"] !== undefined;
  const unserved = services.filter(({ metadata, spec, status }) => {
    const isServed = getIngress(status).length > 0;
    return isServing && spec?.["type"] === "LoadBalancer" && !isServed && !squatted.has(metadata.uid);
  });
  return [
    ...[reacted, audited].flatMap(({ unrest }) =>
      unrest === undefined || squatted.size > 0 ? [] : [`the victim never comes to rest: ${unrest}`],
    ),
    ...unserved.map(({ metadata }) => `the victim's Service ${metadata.name} has no load balancer`),
  ];
}

function getIngress(status: unknown): readonly object[] {
  const { loadBalancer } = (status ?? {}) as { loadBalancer?: { ingress?: readonly object[] } };
  return loadBalancer?.ingress ?? [];
}

function differences(before: readonly string[], after: readonly string[]): string[] {
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => `gone ${line}`),
    ...after.filter((line) => !before.includes(line)).map((line) => `come ${line}`),
  ];
}

function cloudOf({ providerIDs }: TenantAccount, capabilities: ModelCloud["capabilities"]): ModelCloud {
  return {
    capabilities,
    providerIDs,
    addForeign: () => undefined,
    drift: () => undefined,
    foreign: () => [],
    outline: () => [],
  };
}

/** Creates the audit function in an existing world. */
function createAudit({ scenario, cloud, cluster, clock }: World, controller: Controller): Promise<World> {
  return createWorld(
    { ...scenario, controller, createCloud: () => cloud, createCluster: async () => cluster },
    clock,
  );
}

interface Stage {
  readonly victim: World;
  readonly evil: World;
  /** Undefined if the cloud has nothing to audit. */
  readonly audits: { readonly victim: World; readonly evil: World } | undefined;
  readonly api: HostileApi;
  readonly account: TenantAccount;
  note(line: string): void;
}

interface TenantPlayer {
  play(step: TenantStep): Promise<void>;
  /**
   * Returns the uids of the victim's Services whose names were free while the hostile tenant had a forged
   * Service of that name: a free name is taken by the first (SECURITY.md).
   */
  squatted(): ReadonlySet<string>;
}

function createTenantPlayer({ victim, evil, audits, api, account, note }: Stage): TenantPlayer {
  const imitated = new Set<string>();
  const squatted = new Set<string>();
  const { clock } = victim;
  const victimsProviderIDs = account.providerIDs.slice(0, MACHINES_PER_TENANT);
  let uids = 0;
  const nextUid = (): string => {
    uids += 1;
    return `${String(uids).padStart(8, "0")}-0000-4000-8000-000000000000`;
  };
  const nameOf = (service: number): string => SERVICE_NAMES[service] ?? "web";

  const find = async (world: World, name: string): Promise<StoredObject | undefined> =>
    (await world.cluster.view()).services.find(({ metadata }) => metadata.name === name);

  async function setNodes(world: World, nodes: readonly number[], network: number): Promise<void> {
    const { nodes: before } = await world.cluster.view();
    for (const { metadata } of before) await world.cluster.remove("nodes", metadata.name);
    for (const number of nodes) {
      const podCIDR = `100.${network}.${number}.0/24`;
      const spec = { providerID: account.providerIDs[number], podCIDR, podCIDRs: [podCIDR] };
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: `node-${number}`, labels: {} }, spec };
      await world.cluster.create("nodes", node, nextUid());
    }
  }

  async function invokeVictim(isAudit: boolean, latencyMs?: number): Promise<void> {
    const view = await victim.cluster.view();
    const reason = isAudit ? "refresh" : "watch";
    const latency = latencyMs === undefined ? {} : { latencyMs };
    await victim.invoke({ actor: "victim", reason, view, relatedView: view, ...latency });
  }

  /** Returns the uid of the forged Service, and the victim's Service that it imitates. */
  async function forgeUid(
    kind: ForgedUid,
    service: number,
  ): Promise<readonly [string, StoredObject | undefined]> {
    const theirs = await find(victim, nameOf(service));
    if (kind === "new" || theirs === undefined) return [nextUid(), theirs];
    const { uid } = theirs.metadata;
    imitated.add(uid);
    await noteFreeNames();
    const spelled = {
      "victim's": uid,
      "last digit": `${uid.slice(0, -1)}f`,
      spelling: uid.replaceAll("-", "").toUpperCase(),
    };
    return [spelled[kind], theirs];
  }

  async function noteFreeNames(): Promise<void> {
    const { services } = await victim.cluster.view();
    for (const { metadata, status } of services)
      if (imitated.has(metadata.uid) && getIngress(status).length === 0) squatted.add(metadata.uid);
  }

  async function forgeService(step: Extract<TenantStep, { do: "forge Service" }>): Promise<void> {
    const name = nameOf(step.service);
    if ((await find(evil, name)) !== undefined) {
      await evil.cluster.merge("services", name, { metadata: { finalizers: null } });
      await evil.cluster.remove("services", name);
    }
    const [uid, theirs] = await forgeUid(step.uid, step.victim);
    const claims = new Set(step.claims);
    const state = theirs?.metadata.annotations?.[LOAD_BALANCER_ANNOTATION];
    const isStated = claims.has("state") && state !== undefined;
    const annotations = {
      ...(step.isNetwork ? { [formatAnnotationName("type")]: "nlb" } : {}),
      ...(isStated ? { [LOAD_BALANCER_ANNOTATION]: state } : {}),
      ...(claims.has("groups") ? { [formatAnnotationName("security-groups")]: "sg-victim" } : {}),
      ...(claims.has("addresses") ? { [formatAnnotationName("eip-allocations")]: "eipalloc-1" } : {}),
      ...(claims.has("subnets") ? { [formatAnnotationName("subnets")]: "subnet-victim" } : {}),
      ...(claims.has("tags")
        ? { [formatAnnotationName("additional-resource-tags")]: `${getOwnerTag("victim")}=owned,Team=evil` }
        : {}),
    };
    const finalizers = claims.has("finalizer") || step.isDeleting ? [LOAD_BALANCER_FINALIZER] : [];
    await evil.cluster.create(
      "services",
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "default", annotations, finalizers },
        spec: {
          ...{ type: step.isWanted ? "LoadBalancer" : "ClusterIP", clusterIP: `10.0.1.${10 + step.service}` },
          ...portsOf(step.victim, step.ports),
        },
      },
      uid,
    );
    if (step.isWanted && claims.has("status") && theirs?.status !== undefined)
      await evil.cluster.merge("services", name, { status: theirs.status }, "status");
    if (step.isDeleting) await evil.cluster.remove("services", name);
  }

  async function attack(step: Extract<TenantStep, { do: "attack" }>): Promise<void> {
    await noteFreeNames();
    api.deceive(step);
    const view = await evil.cluster.view(clock.now() - step.staleMs);
    const latency = step.isBesideVictim ? { latencyMs: 40 } : {};
    const both = [
      evil.invoke({
        ...{ actor: "evil", reason: step.isAudit ? "refresh" : "watch", view, ...latency },
        relatedView: buildView(view, step.eventNodes, victimsProviderIDs),
      }),
      ...(step.isBesideVictim ? [invokeVictim(false, 30)] : []),
    ];
    let isDone = false;
    const done = Promise.all(both).finally(() => {
      isDone = true;
    });
    if (step.isBesideVictim) await clock.advanceUntil(() => isDone, 120_000);
    const [report] = await done;
    await noteFreeNames();
    for (const { name, outcome, because } of report?.objects ?? [])
      note(`evil ends: ${name} ${outcome} ${because.code}`);
  }

  async function audit(): Promise<void> {
    const view = await victim.cluster.view();
    await audits?.victim.invoke({ actor: "victim audit", reason: "refresh", view, relatedView: view });
  }

  async function attackByAudit(step: Extract<TenantStep, { do: "attack by audit" }>): Promise<void> {
    api.deceive({ lies: step.lies, listedNodes: "true" });
    const view = await evil.cluster.view(clock.now() - step.staleMs);
    const { services: theirs } = await victim.cluster.view();
    const services = {
      true: view.services,
      empty: [],
      partial: view.services.slice(1),
      "victim's": theirs,
    }[step.eventServices];
    const relatedView = { ...view, services };
    await audits?.evil.invoke({ actor: "evil audit", reason: "refresh", view, relatedView });
  }

  return {
    squatted: () => squatted,
    async play(step) {
      switch (step.do) {
        case "create": {
          const name = nameOf(step.service);
          if ((await find(victim, name)) !== undefined) return;
          const clusterIP = `10.0.0.${10 + step.service}`;
          await victim.cluster.create(
            "services",
            {
              apiVersion: "v1",
              kind: "Service",
              metadata: { name, namespace: "default", annotations: victim.scenario.annotations ?? {} },
              spec: { type: "LoadBalancer", clusterIP, ...portsOf(step.service, step.ports) },
            },
            nextUid(),
          );
          return;
        }
        case "edit":
          return victim.cluster.merge("services", nameOf(step.service), {
            spec: portsOf(step.service, step.ports),
          });
        case "change type":
          return victim.cluster.merge("services", nameOf(step.service), {
            spec: { type: step.isWanted ? "LoadBalancer" : "ClusterIP" },
          });
        case "delete":
          return victim.cluster.remove("services", nameOf(step.service));
        case "set nodes":
          return setNodes(victim, step.nodes, 64);
        case "invoke":
          return invokeVictim(step.isAudit);
        case "audit":
          return audit();
        case "attack by audit":
          return attackByAudit(step);
        case "forge Service":
          return forgeService(step);
        case "forge nodes":
          return setNodes(evil, step.nodes, step.isVictimsNetwork ? 64 : 65);
        case "attack":
          for (let time = 0; time < step.times; time += 1) await attack(step);
          return;
      }
    },
  };
}

/** Derives node ports from the Service, or from the one that it imitates. */
function portsOf(service: number, ports: readonly number[]): object {
  return {
    ports: ports.map((port, index) => ({
      ...{ name: `port-${port}`, protocol: "TCP", port, targetPort: port },
      nodePort: 30_000 + service * 100 + index * 10,
    })),
  };
}
