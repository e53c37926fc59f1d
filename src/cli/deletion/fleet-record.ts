import { connectManagement } from "#cli/clusters/management-cluster.ts";
import type { Environment } from "#clouds/provider.ts";
import { createConfigMapRecord } from "#config/fleet-brake/config-map-record.ts";
import { createFleetBrake, type FleetBrake, type RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import { openRecord } from "#config/fleet-brake/open-record.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/**
 * Opens the record that `--fleet-brake` or $FLEET_BRAKE names; undefined without either. An invalid name is a
 * fault.
 */
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
    faults.push({ name, message: `"${sanitizeText(reference)}" names no record; write ${FORMS}` });
  }
  return store;
}

/** Returns the valid reference of a record from `--fleet-brake` or $FLEET_BRAKE; undefined without either. */
export function readFleetBrake(
  flag: string | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): string | undefined {
  const store = readFleetRecordFlag(flag, environment, faults);
  return store && (flag ?? environment["FLEET_BRAKE"]);
}

/** Rejects a record that belongs to one thread if the clusters live in several. */
export function refuseOneThread(reference: string | undefined, faults: ConfigurationFault[]): void {
  if (reference !== "memory") return;
  const message = "memory belongs to one thread: name another record, or give --workers 0";
  faults.push({ name: "--fleet-brake", message });
}

/** Opens the brake over the record of a valid reference; undefined without a reference. */
export function openFleetBrake(reference: string | undefined): FleetBrake | undefined {
  const store = reference === undefined ? undefined : openRecord(reference, openConfigMap);
  return store && createFleetBrake({ store });
}

const FORMS =
  "s3://BUCKET/KEY, kubernetes:NAMESPACE/NAME with ?kubeconfig=FILE behind it outside of the management cluster, or memory";

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const CONFIG_MAP = new RegExp(`^kubernetes:(${LABEL})/(${LABEL}(?:\\.${LABEL})*)(?:\\?kubeconfig=(.+))?$`);

/** Opens the ConfigMap of a management cluster that a reference names; undefined for any other reference. */
export function openConfigMap(reference: string): RecordStore | undefined {
  const [, namespace, configMap, kubeconfig = ""] = CONFIG_MAP.exec(reference) ?? [];
  if (namespace === undefined || configMap === undefined) return undefined;
  const connect = () => connectManagement(`kubernetes:${kubeconfig}`);
  return createConfigMapRecord({ reference, namespace, configMap, connect });
}
