import { DEFAULT_API_URL, DigitalOceanCloudConfig, TOKEN_VARIABLE } from "#clouds/digitalocean/config.ts";
import { defineCloudProvider } from "#clouds/provider.ts";
import { formatReference } from "#platforms/secrets/reference.ts";

export const digitalocean = defineCloudProvider({
  provider: "digitalocean",
  getOwnershipClaim: ({
    region,
    vpc,
    dropletTag,
    clusterID,
    tokenFile,
    credentials,
    apiURL = DEFAULT_API_URL,
  }) => ({
    place: `account of ${apiURL} ${credentials === undefined ? (tokenFile ?? `$${TOKEN_VARIABLE}`) : formatReference(credentials)}, region ${region}`,
    isPlaceCertain: false,
    marks: [
      ...(dropletTag === undefined ? [] : [`droplet tag ${dropletTag}`]),
      ...(clusterID === undefined ? [] : [`load balancer tag k8s:${clusterID}`]),
    ],
    network: vpc === undefined ? undefined : { kind: "id", value: vpc },
    takesUnmarked: dropletTag === undefined,
  }),
  config: DigitalOceanCloudConfig,
  environment: {
    apiURL: ["DO_OVERRIDE_URL"],
    region: ["REGION"],
    vpc: ["DO_CLUSTER_VPC_ID"],
    requestsPerSecond: ["DO_API_RATE_LIMIT_QPS"],
    clusterID: ["DO_CLUSTER_ID"],
    defaultLoadBalancerType: ["DEFAULT_LB_TYPE"],
    "publicAccessFirewall.name": ["PUBLIC_ACCESS_FIREWALL_NAME"],
    "publicAccessFirewall.tags": ["PUBLIC_ACCESS_FIREWALL_TAGS"],
  },
  describeCredentialSource({ tokenFile, credentials }) {
    if (credentials !== undefined) return `the API token in ${formatReference(credentials)}`;
    return tokenFile === undefined
      ? `the API token in ${TOKEN_VARIABLE}`
      : `the API token in the file ${tokenFile}`;
  },
  // A quota belongs to a token. The source of a token tells tokens apart without holding one.
  getQuotaKey: ({ tokenFile, credentials, apiURL = DEFAULT_API_URL }) =>
    `digitalocean ${apiURL} ${credentials === undefined ? (tokenFile ?? `$${TOKEN_VARIABLE}`) : formatReference(credentials)}`,
  scaleIn:
    "without the autoscaler's taint it counts, unless the latest 200 actions of the account show it and the token has actions:read",
  labelPrefixes: [],
  async load(config, options) {
    const { loadDigitalOceanCloud } = await import("#clouds/digitalocean/cloud.ts");
    return loadDigitalOceanCloud(config, options);
  },
  ingress: "ip",
  async importLoadBalancerModel() {
    const { digitalOceanLoadBalancerModel } = await import("#clouds/digitalocean/load-balancers/model.ts");
    return digitalOceanLoadBalancerModel;
  },
  async describeLoadBalancer(service, state, settings) {
    const { describeOnDigitalOcean } = await import("#clouds/digitalocean/load-balancers/model.ts");
    return describeOnDigitalOcean(service, state, settings);
  },
  async diagnose(config) {
    const { diagnoseDigitalOcean } = await import("#clouds/digitalocean/diagnose.ts");
    return diagnoseDigitalOcean(config);
  },
});
