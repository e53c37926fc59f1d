import type * as z from "zod";
import type { CheckResult } from "#core/check-result.ts";
import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { ControllerName } from "#core/event.ts";

/**
 * What every process needs to know of a controller without its code: which clusters run it, and what configures
 * it. Each controller's folder has one in `descriptor.ts`; `src/core/descriptors.ts` lists them. It imports
 * nothing heavy.
 */
export interface ControllerDescriptor {
  /** As in `Watch`. */
  readonly name: ControllerName;
  /** As in `Watch`: the function is also an identity that signs in to clusters. */
  readonly functionName: string;
  readonly enablement?: NamedEnablement;
  /** The folders of a cloud (`src/clouds/<cloud>/`) that the function's bundle contains besides its instances. */
  readonly cloudParts?: readonly string[];
  /** The schema of its settings by their key in a cluster's entry; every value has a default. */
  readonly settings?: Readonly<Record<string, z.ZodType>>;
  /** Checks the settings of a cluster that enables it, beyond their schemas; undefined if they can be used. */
  checkSettings?(settings: Readonly<Record<string, unknown>>): UnusableSettings | undefined;
  /**
   * What it would allow on a cloud whose node addresses are not trusted. An entry with such a cloud must not
   * enable it; absent if any cloud is right.
   */
  readonly harmOfUntrustedAddresses?: string;
}

/** Why a cluster's settings leave an enabled controller without work. */
export type UnusableSettings =
  /** The settings disable the controller, which is not a fault. `reason` is a clause. */
  | { readonly kind: "disabled"; readonly reason: string }
  /** The value at `path` of the entry is missing or wrong. */
  | { readonly kind: "faulty"; readonly path: readonly string[]; readonly message: string };

/**
 * What operators and their tools need of a controller. Each controller's folder has it in `operations.ts`, apart
 * from its descriptor, because deployed functions do not read it.
 */
export interface ControllerOperations {
  readonly rights: ControllerRights;
  /** Finds what keeps an enabled controller from any work. */
  readonly settingsCheck?: SettingsCheck;
  /** Absent if no other cloud-controller-manager has such a controller. */
  readonly handover?: Handover;
}

/** A check of a controller's settings, for `doctor` and for warnings about a cluster's entry. */
export interface SettingsCheck {
  /** As in the output of `doctor`. */
  readonly name: string;
  /** Checks the settings of all controllers; a warning means that the controller has nothing to do. */
  check(settings: Readonly<Record<string, unknown>>): CheckResult;
  /** The warning about an entry for which `check` warns. */
  readonly warning: string;
}

/** How `--controllers` and a cluster's entry name a controller. */
export interface NamedEnablement {
  /** Other names that `--controllers` accepts. */
  readonly aliases?: readonly string[];
  /** Whether `*` includes this controller. */
  readonly onByDefault?: true;
}

/** The rights in a cluster that a controller needs; infra/rbac grants exactly these. */
export interface ControllerRights {
  /** What the relay lists and watches and the sweep lists, besides nodes. */
  readonly followed: readonly RightTarget[];
  /** What the relay alone lists and watches, if the cluster has it. */
  readonly announcing?: readonly RightTarget[];
  /** The rights of its function. */
  readonly granted: readonly Right[];
}

/** How a controller is handed over from another cloud-controller-manager. */
export interface Handover {
  /** It must not run on both sides at once: each side would change the other's cloud resources. */
  readonly oneAtATime?: true;
  /** Returns whether these managed fields of a node are those that the other one's controller writes. */
  isWriter?(fields: WrittenFields): boolean;
}

/** The fields of a node that one field manager wrote. */
export interface WrittenFields {
  /** Returns whether the manager owns the field at this path of `fieldsV1`, such as `f:spec`, `f:taints`. */
  has(...path: readonly string[]): boolean;
  /** Whether the node carries the shutdown taint. */
  readonly isShutDown: boolean;
}

/** One verb on one resource, in the terms of RBAC and of a SelfSubjectAccessReview. */
export interface Right {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Only in this namespace. */
  readonly namespace?: string;
  /** Only for the object with this name. */
  readonly name?: string;
  /** Needed if this controller is enabled, and granted by its own manifests. */
  readonly controller?: ControllerName;
  /** Needed if the cluster's load balancers are this cloud's, and granted by its own manifests. */
  readonly cloud?: string;
  /** Needed if this source announces machines (`nodes.lookAhead`), and granted by its own manifests. */
  readonly lookAhead?: string;
  /** Needed if the relay writes instead of the functions, and granted by separate manifests. */
  readonly writes?: "relay";
}

export type RightTarget = Omit<Right, "verb">;

export const NODE_OBJECTS: RightTarget = { group: "", resource: "nodes" };

/** The namespace of Events on cluster-scoped objects. */
export const EVENT_OBJECTS: RightTarget = { group: "", resource: "events", namespace: "default" };

/** The object that represents the cluster for controllers which work on it as a whole. */
export const CLUSTER_OBJECT: RightTarget = { group: "", resource: "namespaces", name: SYSTEM_NAMESPACE };

/** Returns one right for each verb. */
export function buildRights(target: RightTarget, ...verbs: readonly string[]): Right[] {
  return verbs.map((verb) => ({ verb, ...target }));
}
