import { stringify } from "yaml";
import { sanitizeText } from "#core/sanitize-text.ts";

/** Parses an INI value, which is always a string, to a YAML value. */
type ValueParser = (value: string) => unknown;

const parseText: ValueParser = (value) => value;
const parseNumber: ValueParser = (value) => (/^\d{1,9}$/.test(value) ? Number(value) : value);
const parseList: ValueParser = (value) => [value];
const parseBoolean: ValueParser = (value) => {
  if (/^(?:true|yes|on|1)$/i.test(value)) return true;
  return /^(?:false|no|off|0)$/i.test(value) ? false : value;
};

/** Our keys for those of the stock AWS controller, by the latter in lower case. */
const KEYS: Readonly<Record<string, readonly [key: string, reading: ValueParser]>> = {
  vpc: ["vpc", parseText],
  subnetid: ["subnetID", parseText],
  routetableid: ["routeTableIDs", parseList],
  kubernetesclustertag: ["clusterTag", parseText],
  kubernetesclusterid: ["clusterTag", parseText],
  rolearn: ["roleArn", parseText],
  sourcearn: ["sourceArn", parseText],
  supportedtopologyinstancetypepattern: ["topologyInstanceTypePattern", parseText],
  disablesecuritygroupingress: ["disableSecurityGroupIngress", parseBoolean],
  elbsecuritygroup: ["elbSecurityGroup", parseText],
  nlbsecuritygroupmode: ["nlbSecurityGroupMode", parseText],
  clusterserviceloadbalancerhealthprobemode: ["clusterServiceLoadBalancerHealthProbeMode", parseText],
  clusterservicesharedloadbalancerhealthprobeport: [
    "clusterServiceSharedLoadBalancerHealthProbePort",
    parseNumber,
  ],
  clusterservicesharedloadbalancerhealthprobepath: [
    "clusterServiceSharedLoadBalancerHealthProbePath",
    parseText,
  ],
};

/**
 * Extracts the region from a zone's name as the stock controller does: `us-west-2-lax-1a` is in `us-west-2`.
 */
const REGION_OF_ZONE = /^([a-zA-Z]+-)+\d+/;

/** The YAML for the stock AWS controller's INI, and the keys that have no equivalent. */
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
      const [ours, reading] = KEYS[name] ?? ["", parseText];
      // To the stock controller an empty value means a missing line, and so does port 0.
      const value = reading(plain);
      if (plain !== "" && value !== 0) said[ours] = value;
      // A cluster that is named by the old key has both tags.
      if (plain !== "" && name === "kubernetesclustertag") said["legacyClusterTag"] = true;
    } else leftOut.add(sanitizeText(name === "" ? `[${section}] ${key}` : key, 64));
  }
  if (families.length > 0) said["nodeIPFamilies"] = families;
  return { yaml: stringify(said, { lineWidth: 0 }), leftOut: [...leftOut] };
}

/** Explains what to write instead of a cloud-config in the stock format. */
export function formatStockFormError(text: string): string {
  const { yaml, leftOut } = translateStockConfig(text);
  const lines = yaml
    .trimEnd()
    .split("\n")
    .map((line) => `      ${sanitizeText(line)}`);
  const without =
    leftOut.length === 0 ? "" : `\n    without ${leftOut.join(", ")}, which nothing here corresponds to`;
  return `is INI, as the stock controller reads it; write it as YAML:\n${lines.join("\n")}${without}`;
}
