import type { Capability, Cloud } from "#clouds/cloud.ts";
import { createKubeVipCloud } from "#clouds/kubevip/cloud.ts";
import { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { kubeVipModel } from "#clouds/kubevip/load-balancers/model.ts";
import type { CloudAction } from "#core/decision.ts";
import type { LoadBalancerStep, ServiceEdit } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { createFakeObjects, type FakeObjects } from "#test/clouds/fake-objects.ts";

/** A cluster with pools and Services, and processes that assign addresses through the controller. */
export interface Play {
  readonly objects: FakeObjects;
  create(name: string, difference?: Difference): void;
  read(name: string): Service;
  /** Starts a new process. */
  process(): Process;
}

export interface Process {
  /** Runs one invocation for these Services, which are observed together: at most six steps for each. */
  invoke(...names: readonly string[]): Promise<readonly LoadBalancerStep[]>;
}

export interface Difference {
  readonly metadata?: Partial<Service["metadata"]>;
  readonly spec?: Partial<Service["spec"]>;
}

const MAX_STEPS = 6;

export function createPlay(data: Readonly<Record<string, string>> | undefined, cloud: object = {}): Play {
  const objects = createFakeObjects();
  if (data !== undefined)
    objects.put("configmaps", { metadata: { namespace: "kube-system", name: "kubevip" }, data });
  const config = KubeVipCloudConfig.parse({ provider: "kubevip", ...cloud });
  const settings: Settings = { ...DEFAULT_SETTINGS, cloud: config };
  const read = (name: string): Service => Service.parse(objects.get("services", name));

  function edit(name: string, { annotations = {}, labels = {}, loadBalancerIP }: ServiceEdit): void {
    const { metadata, spec } = read(name);
    const merged = (map: Readonly<Record<string, string>> = {}, more: object): Record<string, string> =>
      Object.fromEntries(Object.entries({ ...map, ...more }).filter(([, value]) => value !== null));
    const { loadBalancerIP: before, ...others } = spec;
    const ip = loadBalancerIP === undefined ? before : (loadBalancerIP ?? undefined);
    objects.put("services", {
      metadata: {
        ...metadata,
        annotations: merged(metadata.annotations, annotations),
        labels: merged(metadata.labels, labels),
      },
      spec: { ...others, ...(ip === undefined ? {} : { loadBalancerIP: ip }) },
    });
  }

  async function one(capability: Capability, name: string, observed: unknown): Promise<LoadBalancerStep> {
    let state = observed;
    for (let steps = 0; ; steps += 1) {
      const service = read(name);
      const wanted = service.spec.type === "LoadBalancer" && service.metadata.deletionTimestamp === undefined;
      const question = { service, wanted, nodes: [] };
      const step =
        kubeVipModel.precheck(question, settings) ?? kubeVipModel.planStep(question, state, settings);
      if (steps === MAX_STEPS || (step.kind !== "act" && step.kind !== "write")) return step;
      await objects.onRequest(`${step.kind} ${name}`);
      if (step.kind === "write") {
        edit(name, step.edit);
        continue;
      }
      for (const action of step.actions) {
        const { answer } = await capability.act(actionOf(action), CALL);
        if (answer.kind === "done") state = kubeVipModel.applyResult(state, action, answer.result);
        else {
          const issue = kubeVipModel.toIssue?.(action, { kind: answer.kind, reason: answer.reason }, service);
          return { kind: "refused", issue: issue ?? { code: "LoadBalancerRefused" } };
        }
      }
    }
  }

  return {
    objects,
    read,
    create(name, { metadata = {}, spec = {} } = {}) {
      const [namespace = "", of = ""] = name.split("/");
      objects.put("services", {
        metadata: {
          namespace,
          name: of,
          uid: `uid-${of}`,
          creationTimestamp: "2026-01-01T00:00:00Z",
          ...metadata,
        },
        spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
      });
    },
    process() {
      const made: Cloud = createKubeVipCloud(config, { objects });
      const capability = made.capabilities?.["loadBalancers"] as Capability;
      return {
        async invoke(...names) {
          const questions = names.map((name) => ({ service: read(name), wanted: true, nodes: [] }));
          const { answers } = await capability.observe(questions, CALL);
          return Promise.all(
            answers.map(async (answer, index): Promise<LoadBalancerStep> => {
              const name = names[index] ?? "";
              if (answer.kind === "observed") return one(capability, name, answer.state);
              return { kind: "refused", issue: { code: answer.code } };
            }),
          );
        },
      };
    },
  };
}

const CALL = { signal: new AbortController().signal, share: 1 };

function actionOf(action: Pick<CloudAction, "action" | "target" | "parameters">): CloudAction {
  return {
    on: "cloud",
    capability: "loadBalancers",
    ...action,
    precondition: { uid: action.target, deleting: false },
  };
}
