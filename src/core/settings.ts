import * as z from "zod";
import { DEFAULT_CLUSTER_NAME } from "#core/contracts.ts";
import { CONTROLLER_SETTINGS } from "#core/descriptors.ts";

/**
 * The configuration of a cluster's cloud, as parsed by its provider; controllers pass it to their part for
 * that cloud.
 */
export type CloudSettings = { readonly provider: string } & Readonly<Record<string, unknown>>;

/** The settings of all controllers, by the keys of a cluster's entry. */
export type ControllerSettings = Readonly<z.output<z.ZodObject<typeof CONTROLLER_SETTINGS>>>;

/** The parts of a cluster's configuration on which decisions depend. */
export interface Settings extends ControllerSettings {
  /** The cluster's name, which is also the default of `clusterTag`. */
  readonly cluster: string;
  readonly cloud: CloudSettings;
  /**
   * The one `spec.loadBalancerClass` that this cluster serves; by default Services without a class, and with
   * our own.
   */
  readonly loadBalancerClass?: string | undefined;
}

/** The settings of an empty configuration. */
export const DEFAULT_SETTINGS: Settings = {
  cluster: DEFAULT_CLUSTER_NAME,
  cloud: { provider: "memory" },
  ...z.object(CONTROLLER_SETTINGS).parse({}),
};

/** Returns the controllers' settings among the members of a cluster. */
export function selectControllerSettings(cluster: ControllerSettings): ControllerSettings {
  return Object.fromEntries(KEYS.map((key) => [key, cluster[key]])) as unknown as ControllerSettings;
}

const KEYS = Object.keys(CONTROLLER_SETTINGS) as (keyof ControllerSettings)[];
