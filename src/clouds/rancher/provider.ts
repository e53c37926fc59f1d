import { HOSTNAME_LABEL } from "#clouds/no-cloud/config.ts";
import { defineCloudProvider } from "#clouds/provider.ts";
import {
  CATTLE_VARIABLES,
  type CattleServer,
  formatKey,
  MACHINE_LABEL,
  type ManagementServer,
  NODE_KEYS,
  RancherCloudConfig,
  REPEATED_LABELS,
  TOKEN_VARIABLE,
} from "#clouds/rancher/config.ts";
import { formatReference } from "#platforms/secrets/reference.ts";

export const rancher = defineCloudProvider({
  provider: "rancher",
  config: RancherCloudConfig,
  environment: { "rancher.url": ["RANCHER_URL"], "cattle.url": ["CATTLE_URL"] },
  presets: { k3s: { distribution: "k3s" }, rke2: { distribution: "rke2" } },
  describeCredentialSource({ rancher: server, cattle }) {
    if (cattle !== undefined) return `the secret key in ${getSecretKeySource(cattle)}`;
    return server === undefined ? "nowhere: it needs none" : `the API token in ${getTokenSource(server)}`;
  },
  // The source of a secret tells quotas apart without holding the secret.
  getQuotaKey({ rancher: server, cattle }) {
    if (cattle !== undefined) return `rancher ${cattle.url} ${getSecretKeySource(cattle)}`;
    return server === undefined ? "" : `rancher ${server.url} ${getTokenSource(server)}`;
  },
  // A Rancher 1.x environment is a cluster; without Rancher only the cluster itself is called.
  getOwnershipClaim({ rancher: server, cattle }) {
    const url = server?.url ?? cattle?.url;
    if (url === undefined) return undefined;
    return {
      place: `server ${new URL(url).href.replace(/(?<!\/)\/+$/, "")}`,
      isPlaceCertain: true,
      marks: [server === undefined ? "environment" : `cluster ${server.namespace}/${server.cluster}`],
      network: undefined,
      takesUnmarked: false,
    };
  },
  scaleIn: "without the autoscaler's taint it counts: Rancher keeps no record of a machine that is gone",
  labelPrefixes: [],
  listNodeKeys({ distribution }) {
    if (distribution === undefined) return [];
    return [
      ...NODE_KEYS.map((key) => formatKey(distribution, key)),
      ...Object.values(REPEATED_LABELS),
      HOSTNAME_LABEL,
      MACHINE_LABEL,
    ];
  },
  // Keys that K3s and RKE2 agents write on their nodes are the nodes' own claims.
  hasTrustedAddresses: ({ mode }) => mode === "cattle",
  async load(config, options) {
    const { loadRancherCloud } = await import("#clouds/rancher/cloud.ts");
    return loadRancherCloud(config, options);
  },
  ingress: "ip",
  async importLoadBalancerModel() {
    return (await import("#clouds/rancher/cattle/load-balancers/model.ts")).cattleLoadBalancerModel;
  },
  async describeLoadBalancer(_, state) {
    const { describeOnCattle } = await import("#clouds/rancher/cattle/load-balancers/model.ts");
    return describeOnCattle(state);
  },
  async diagnose(config) {
    const { diagnoseRancher } = await import("#clouds/rancher/diagnose.ts");
    return diagnoseRancher(config);
  },
});

function getTokenSource({ tokenFile, credentials }: ManagementServer): string {
  if (credentials !== undefined) return formatReference(credentials);
  return tokenFile === undefined ? TOKEN_VARIABLE : `the file ${tokenFile}`;
}

function getSecretKeySource({ secretKeyFile }: CattleServer): string {
  return secretKeyFile === undefined ? CATTLE_VARIABLES.secretKey : `the file ${secretKeyFile}`;
}
