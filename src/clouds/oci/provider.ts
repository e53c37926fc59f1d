import {
  COMPARTMENT_ANNOTATION,
  FAULT_DOMAIN_LABEL,
  FULL_AD_LABEL,
  getKeyReference,
  IPV6_LABEL,
  listCompartments,
  OciCloudConfig,
} from "#clouds/oci/config.ts";
import { findRegion } from "#clouds/oci/regions.ts";
import { defineCloudProvider } from "#clouds/provider.ts";
import { formatReference } from "#platforms/secrets/reference.ts";

export const oci = defineCloudProvider({
  provider: "oci",
  config: OciCloudConfig,
  environment: { ipFamily: ["CLUSTER_IP_FAMILY"], loadBalancerPrefix: ["LOAD_BALANCER_PREFIX"] },
  convertFile: convertStockFile,
  describeCredentialSource: (config) => `the API signing key in ${formatReference(getKeyReference(config))}`,
  // Oracle throttles users, per tenancy and region.
  getQuotaKey: ({ auth, endpoints }) =>
    `oci ${endpoints?.iaas ?? findRegion(auth.region)} ${auth.tenancy} ${auth.user}`,
  // Instances carry no mark of a cluster; load balancers carry its name.
  getOwnershipClaim: (config, clusterName) => ({
    place: `tenancy ${config.auth.tenancy}, region ${findRegion(config.auth.region)}, compartments ${[...listCompartments(config)].sort().join(" ")}`,
    isPlaceCertain: true,
    marks: [`load balancer tag of cluster ${clusterName}`],
    network: config.vcn === undefined ? undefined : { kind: "id", value: config.vcn },
    takesUnmarked: true,
  }),
  listConfigWarnings({ metrics, regionKey, tags }) {
    const ignoredSettings = {
      metrics,
      regionKey,
      "tags.blockVolume": tags?.blockVolume,
      "tags.fss": tags?.fss,
    };
    const unused = Object.entries(ignoredSettings).flatMap(([key, value]) =>
      value === undefined ? [] : [key],
    );
    return unused.length === 0 ? [] : [`${unused.join(", ")}: without effect here, and can be removed`];
  },
  scaleIn:
    "without the autoscaler's taint it counts once OCI no longer shows the instance as TERMINATED, which takes about an hour",
  labelPrefixes: [],
  listLabels: () => [FAULT_DOMAIN_LABEL, FULL_AD_LABEL],
  listNodeKeys: () => [IPV6_LABEL, COMPARTMENT_ANNOTATION],
  async load(config, options) {
    const { loadOciCloud } = await import("#clouds/oci/cloud.ts");
    return loadOciCloud(config, options);
  },
  ingress: "ip",
  async importLoadBalancerModel() {
    return (await import("#clouds/oci/load-balancers/model.ts")).ociLoadBalancerModel;
  },
  async describeLoadBalancer(service, state, settings) {
    const { describeOnOci } = await import("#clouds/oci/load-balancers/model.ts");
    return describeOnOci(service, state, settings);
  },
  async diagnose(config, options) {
    const { diagnoseOci } = await import("#clouds/oci/diagnose.ts");
    return diagnoseOci(config, options);
  },
});

/**
 * Converts the stock controller's `cloud-provider.yaml` to the form of a cluster's `cloud:`. A key or
 * passphrase in the file stays there, and the result names the file. Deprecated spellings become the newer
 * ones. A setting present in both spellings stays twice and is a fault.
 */
function convertStockFile(
  document: Readonly<Record<string, unknown>>,
  file: string,
): Readonly<Record<string, unknown>> {
  const { auth, loadBalancer, ...others } = removeEmpty(document);
  const result: Record<string, unknown> = { ...others };
  if (isMapping(auth)) {
    const converted: Record<string, unknown> = removeEmpty(auth);
    for (const key of ["compartment", "useInstancePrincipals", "regionKey"])
      moveKey(converted, key, result, key);
    if (moveKey(converted, "key", converted, "keyFile")) converted["keyFile"] = file;
    for (const key of ["passphrase", "key_passphrase"])
      if (moveKey(converted, key, converted, "passphraseFile")) converted["passphraseFile"] = file;
    result["auth"] = converted;
  } else if (auth !== undefined) result["auth"] = auth;
  if (isMapping(loadBalancer)) {
    const converted: Record<string, unknown> = removeEmpty(loadBalancer);
    if (typeof converted["disableSecurityListManagement"] === "boolean") {
      if (converted["disableSecurityListManagement"]) converted["securityListManagementMode"] ??= "None";
      delete converted["disableSecurityListManagement"];
    }
    result["loadBalancer"] = converted;
  } else if (loadBalancer !== undefined) result["loadBalancer"] = loadBalancer;
  return result;
}

function moveKey(
  from: Record<string, unknown>,
  key: string,
  to: Record<string, unknown>,
  newKey: string,
): boolean {
  if (from[key] === undefined || to[newKey] !== undefined) return false;
  to[newKey] = from[key];
  delete from[key];
  return true;
}

/** Removes keys without a value, which the stock controller treats as absent. */
function removeEmpty(mapping: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(mapping).filter(([, value]) => value !== null && value !== ""));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
