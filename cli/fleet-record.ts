import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { connectManagement } from "#cli/management-cluster.ts";
import type { Environment } from "#clouds/kind.ts";
import { configMapRecord } from "#config/fleet-brake/config-map-record.ts";
import { createFleetBrake, type FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import { openRecord } from "#config/fleet-brake/open-record.ts";
import type { RecordStore } from "#config/fleet-brake/record-store.ts";
import { shown } from "#core/shown-text.ts";

/** The record that `--fleet-brake` or $FLEET_BRAKE names; undefined without either, and where it names none, which is a fault. */
export function readFleetRecordFlag(
  flag: string | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): RecordStore | undefined {
  const reference = flag ?? (environment["FLEET_BRAKE"] || undefined);
  if (reference === undefined) return undefined;
  const store = openRecord(reference, openConfigMap);
  if (store === undefined) {
    const name = flag === undefined ? "$FLEET_BRAKE" : "--fleet-brake";
    faults.push({ name, message: `"${shown(reference)}" names no record; write ${FORMS}` });
  }
  return store;
}

/** The brake of a fleet that is named, and found well. */
export interface NamedFleetBrake {
  readonly reference: string;
  /** Whether nobody else can see its record, another thread of this process included. */
  readonly isOfOneThread: boolean;
  open(): FleetBrake;
}

/** The brake over the record that `--fleet-brake` or $FLEET_BRAKE names; undefined without either. */
export function readFleetBrake(
  flag: string | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): NamedFleetBrake | undefined {
  const store = readFleetRecordFlag(flag, environment, faults);
  const reference = flag ?? environment["FLEET_BRAKE"];
  if (store === undefined || reference === undefined) return undefined;
  return { reference, isOfOneThread: reference === "memory", open: () => createFleetBrake({ store }) };
}

/** Clusters in several threads share no record that one thread has. */
export function refuseOneThread(brake: NamedFleetBrake | undefined, faults: ConfigurationFault[]): void {
  if (brake?.isOfOneThread !== true) return;
  const message = "memory is that of one thread: name a record that is kept elsewhere, or give --workers 0";
  faults.push({ name: "--fleet-brake", message });
}

/** The same in a worker thread, for a reference that the main thread has found well. */
export function openFleetBrake(reference: string | undefined): FleetBrake | undefined {
  const store = reference === undefined ? undefined : openRecord(reference, openConfigMap);
  return store && createFleetBrake({ store });
}

const FORMS =
  "s3://BUCKET/KEY, kubernetes:NAMESPACE/NAME with ?kubeconfig=FILE behind it outside of the management cluster, or memory";

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const CONFIG_MAP = new RegExp(`^kubernetes:(${LABEL})/(${LABEL}(?:\\.${LABEL})*)(?:\\?kubeconfig=(.+))?$`);

/** The ConfigMap of a management cluster that a reference names; undefined where it names none. */
export function openConfigMap(reference: string): RecordStore | undefined {
  const [, namespace, configMap, kubeconfig = ""] = CONFIG_MAP.exec(reference) ?? [];
  if (namespace === undefined || configMap === undefined) return undefined;
  const connect = () => connectManagement(`kubernetes:${kubeconfig}`);
  return configMapRecord({ reference, namespace, configMap, connect });
}
