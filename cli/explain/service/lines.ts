import { styleText } from "node:util";
import { wouldWrite } from "#cli/explain/explanation.ts";
import { becauseOf, type ServiceExplanation, warningsOf } from "#cli/explain/service/explanation.ts";
import { someOf } from "#cli/some-of.ts";
import { stopStatusLines } from "#cli/stop-status.ts";
import type { Write } from "#core/decision.ts";
import type { Service } from "#core/service/service.ts";
import { shown } from "#core/shown-text.ts";

/** An explanation for people, line by line; what the tenant wrote is cut and acts on no terminal. */
export function serviceLines(explanation: ServiceExplanation): readonly string[] {
  const { stops, service, whose, advice } = explanation;
  const stopped = stopStatusLines(stops);
  return [
    ...(stopped.length === 0 ? [] : section("stopped", stopped)),
    ...section("service", aboutService(service)),
    ...section("whose", [text(whose.because)]),
    ...section("cloud", aboutCloud(explanation)),
    ...section("next", aboutNext(explanation)),
    ...section(
      "what to do",
      advice.map((each) => text(each)),
    ),
  ];
}

const MAX_SENTENCE = 1_000;
const MAX_PORTS = 20;
const MAX_LINES = 100;

function text(written: string): string {
  return shown(written, MAX_SENTENCE);
}

function section(name: string, lines: readonly string[]): string[] {
  return [styleText("bold", name), ...lines.map((line) => `  ${line}`)];
}

function aboutService({ metadata, spec, status }: Service): string[] {
  const { ports = [], type = "ClusterIP", loadBalancerClass } = spec;
  const ingress = status?.loadBalancer?.ingress ?? [];
  return [
    text(
      `${metadata.namespace}/${metadata.name}, type ${type}${loadBalancerClass === undefined ? "" : `, class ${loadBalancerClass}`}`,
    ),
    `ports: ${someOf(
      ports.map(({ protocol, port, nodePort }) =>
        text(`${protocol}:${port} on node port ${nodePort ?? "none"}`),
      ),
      MAX_PORTS,
    )}`,
    `status: ${someOf(
      ingress.map(({ hostname, ip }) => text(hostname ?? ip ?? "?")),
      MAX_PORTS,
    )}`,
    ...(metadata.deletionTimestamp === undefined ? [] : ["it is being deleted"]),
  ];
}

function aboutCloud({ observed, described }: ServiceExplanation): string[] {
  if (observed === undefined) return ["was not asked"];
  if (observed.kind === "error") return [text(`${observed.code}: ${observed.message}`)];
  if (described === undefined || described.lines.length === 0) return ["nothing of this Service is there"];
  const more = described.lines.length - MAX_LINES;
  return [...described.lines.slice(0, MAX_LINES).map(text), ...(more > 0 ? [`and ${more} lines more`] : [])];
}

function aboutNext({ report }: ServiceExplanation): string[] {
  const { code, message } = becauseOf(report);
  const wait = report.afterSeconds === undefined ? "" : `, and looks again after ${report.afterSeconds} s`;
  const writes = report.decision?.kind === "change" ? report.decision.writes.map(aboutWrite) : [];
  return [
    ...(wouldWrite(report) ? writes : [`does nothing${wait}`]),
    text(`because ${code}: ${message}`),
    ...warningsOf(report).map((warning) => text(`warning ${warning.code}: ${warning.message}`)),
  ];
}

/** Of the cluster, what is patched; of the cloud, the operation and on what. */
function aboutWrite(write: Write): string {
  if (write.on === "cloud") return text(`would call ${write.action} on ${write.target}`);
  const paths = "patch" in write ? `: ${write.patch.map(({ op, path }) => `${op} ${path}`).join(", ")}` : "";
  const at = "subresource" in write && write.subresource !== undefined ? `/${write.subresource}` : "";
  return text(`would ${write.verb} ${write.resource}${at} ${write.name}${paths}`);
}
