import { stringify } from "yaml";
import { shown } from "#core/shown-text.ts";

/** What a value is in YAML; INI knows texts alone. */
type Reading = (value: string) => unknown;

const asText: Reading = (value) => value;
const asNumber: Reading = (value) => (/^\d{1,9}$/.test(value) ? Number(value) : value);
const asList: Reading = (value) => [value];
const asBoolean: Reading = (value) => {
  if (/^(?:true|yes|on|1)$/i.test(value)) return true;
  return /^(?:false|no|off|0)$/i.test(value) ? false : value;
};

/** The keys of ours that say what those of the stock AWS controller do, by these in lower case. */
const KEYS: Readonly<Record<string, readonly [key: string, reading: Reading]>> = {
  vpc: ["vpc", asText],
  subnetid: ["subnetID", asText],
  routetableid: ["routeTableIDs", asList],
  kubernetesclustertag: ["clusterTag", asText],
  kubernetesclusterid: ["clusterTag", asText],
  rolearn: ["roleArn", asText],
  sourcearn: ["sourceArn", asText],
  supportedtopologyinstancetypepattern: ["topologyInstanceTypePattern", asText],
  disablesecuritygroupingress: ["disableSecurityGroupIngress", asBoolean],
  elbsecuritygroup: ["elbSecurityGroup", asText],
  nlbsecuritygroupmode: ["nlbSecurityGroupMode", asText],
  clusterserviceloadbalancerhealthprobemode: ["clusterServiceLoadBalancerHealthProbeMode", asText],
  clusterservicesharedloadbalancerhealthprobeport: [
    "clusterServiceSharedLoadBalancerHealthProbePort",
    asNumber,
  ],
  clusterservicesharedloadbalancerhealthprobepath: [
    "clusterServiceSharedLoadBalancerHealthProbePath",
    asText,
  ],
};

/** Of a zone's name, as the stock controller takes it: `us-west-2-lax-1a` is in `us-west-2`. */
const REGION_OF_ZONE = /^([a-zA-Z]+-)+\d+/;

/** The stock AWS controller's INI as the YAML that says the same, and its keys that nothing here says. */
export interface TranslatedConfig {
  readonly yaml: string;
  readonly leftOut: readonly string[];
}

/** Translates the `[Global]` section of a cloud-config as the stock AWS controller reads it. */
export function translateStockConfig(text: string): TranslatedConfig {
  const said: Record<string, unknown> = {};
  const families: string[] = [];
  const leftOut = new Set<string>();
  let section = "";
  for (const line of text.split("\n")) {
    const head = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1];
    if (head !== undefined) section = head;
    const [, key = "", written = ""] = /^\s*([A-Za-z]\w*)\s*=\s*(.*?)\s*(?:[#;].*)?$/.exec(line) ?? [];
    if (key === "") continue;
    const name = section.toLowerCase() === "global" ? key.toLowerCase() : "";
    const plain = written.replace(/^"(.*)"$/, "$1");
    if (name === "zone") said["region"] = REGION_OF_ZONE.exec(plain)?.[0] ?? plain;
    else if (name === "nodeipfamilies") families.push(plain);
    else if (name === "region") said["region"] ??= plain;
    else if (Object.hasOwn(KEYS, name)) {
      const [ours, reading] = KEYS[name] ?? ["", asText];
      // To the stock controller nothing is as good as no line, and so is port 0.
      const value = reading(plain);
      if (plain !== "" && value !== 0) said[ours] = value;
      // Whoever names the cluster by its old key has both tags.
      if (plain !== "" && name === "kubernetesclustertag") said["legacyClusterTag"] = true;
    } else leftOut.add(shown(name === "" ? `[${section}] ${key}` : key, 64));
  }
  if (families.length > 0) said["nodeIPFamilies"] = families;
  return { yaml: stringify(said, { lineWidth: 0 }), leftOut: [...leftOut] };
}

/** Says of a cloud-config in the stock form what to write in its place. */
export function stockFormFault(text: string): string {
  const { yaml, leftOut } = translateStockConfig(text);
  const lines = yaml
    .trimEnd()
    .split("\n")
    .map((line) => `      ${shown(line)}`);
  const without =
    leftOut.length === 0 ? "" : `\n    without ${leftOut.join(", ")}, which nothing here corresponds to`;
  return `is INI, as the stock controller reads it; write it as YAML:\n${lines.join("\n")}${without}`;
}
