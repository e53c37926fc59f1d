import { stringify } from "yaml";
import { shown } from "#core/shown-text.ts";

/** What of the stock AWS controller's keys, in lower case, a key of ours says. */
const KEYS: Readonly<Record<string, string>> = {
  region: "region",
  vpc: "vpc",
  kubernetesclustertag: "clusterTag",
  kubernetesclusterid: "clusterTag",
  rolearn: "roleArn",
  sourcearn: "sourceArn",
  nodeipfamilies: "nodeIPFamilies",
  supportedtopologyinstancetypepattern: "topologyInstanceTypePattern",
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
    const [, key = "", value = ""] = /^\s*([A-Za-z]\w*)\s*=\s*(.*?)\s*(?:[#;].*)?$/.exec(line) ?? [];
    if (key === "") continue;
    const name = section.toLowerCase() === "global" ? key.toLowerCase() : "";
    const plain = value.replace(/^"(.*)"$/, "$1");
    if (name === "zone") said["region"] = REGION_OF_ZONE.exec(plain)?.[0] ?? plain;
    else if (name === "nodeipfamilies") families.push(plain);
    else if (name === "region") said["region"] ??= plain;
    else if (Object.hasOwn(KEYS, name)) said[KEYS[name] ?? ""] = plain;
    else leftOut.add(shown(name === "" ? `[${section}] ${key}` : key, 64));
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
