import { styleText } from "node:util";
import { stopStatusLines } from "#cli/deletion/stop-status.ts";
import { hasHeldWrite } from "#cli/explain/explanation.ts";
import { getReason, getWarnings, type ServiceExplanation } from "#cli/explain/service/explanation.ts";
import { formatList } from "#cli/format-list.ts";
import type { Write } from "#core/decision.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { Service } from "#core/service/service.ts";

/** Formats an explanation for people, line by line. A tenant's text is cut and made safe for terminals. */
export function formatServiceExplanation(explanation: ServiceExplanation): readonly string[] {
  const { stops, service, whose, advice } = explanation;
  const stopped = stopStatusLines(stops);
  return [
    ...(stopped.length === 0 ? [] : formatSection("stopped", stopped)),
    ...formatSection("service", formatService(service)),
    ...formatSection("whose", [sanitize(whose.because)]),
    ...formatSection("cloud", formatCloudState(explanation)),
    ...formatSection("next", formatNextStep(explanation)),
    ...formatSection(
      "what to do",
      advice.map((each) => sanitize(each)),
    ),
  ];
}

const MAX_SENTENCE = 1_000;
const MAX_PORTS = 20;
const MAX_LINES = 100;

function sanitize(written: string): string {
  return sanitizeText(written, MAX_SENTENCE);
}

function formatSection(name: string, lines: readonly string[]): string[] {
  return [styleText("bold", name), ...lines.map((line) => `  ${line}`)];
}

function formatService({ metadata, spec, status }: Service): string[] {
  const { ports = [], type = "ClusterIP", loadBalancerClass } = spec;
  const ingress = status?.loadBalancer?.ingress ?? [];
  return [
    sanitize(
      `${metadata.namespace}/${metadata.name}, type ${type}${loadBalancerClass === undefined ? "" : `, class ${loadBalancerClass}`}`,
    ),
    `ports: ${formatList(
      ports.map(({ protocol, port, nodePort }) =>
        sanitize(`${protocol}:${port} on node port ${nodePort ?? "none"}`),
      ),
      MAX_PORTS,
    )}`,
    `status: ${formatList(
      ingress.map(({ hostname, ip }) => sanitize(hostname ?? ip ?? "?")),
      MAX_PORTS,
    )}`,
    ...(metadata.deletionTimestamp === undefined ? [] : ["it is being deleted"]),
  ];
}

function formatCloudState({ observed, described }: ServiceExplanation): string[] {
  if (observed === undefined) return ["was not asked"];
  if (observed.kind === "error") return [sanitize(`${observed.code}: ${observed.message}`)];
  if (described === undefined || described.lines.length === 0) return ["nothing of this Service exists"];
  const more = described.lines.length - MAX_LINES;
  return [
    ...described.lines.slice(0, MAX_LINES).map(sanitize),
    ...(more > 0 ? [`and ${more} lines more`] : []),
  ];
}

function formatNextStep({ report }: ServiceExplanation): string[] {
  const { code, message } = getReason(report);
  const wait = report.afterSeconds === undefined ? "" : `, and checks again after ${report.afterSeconds} s`;
  const writes = report.decision?.kind === "change" ? report.decision.writes.map(formatWrite) : [];
  return [
    ...(hasHeldWrite(report) ? writes : [`does nothing${wait}`]),
    sanitize(`because ${code}: ${message}`),
    ...getWarnings(report).map((warning) => sanitize(`warning ${warning.code}: ${warning.message}`)),
  ];
}

/** Formats a write: the patched object of the cluster, or the operation of the cloud and its object. */
function formatWrite(write: Write): string {
  if (write.on === "cloud") return sanitize(`would call ${write.action} on ${write.target}`);
  const paths = "patch" in write ? `: ${write.patch.map(({ op, path }) => `${op} ${path}`).join(", ")}` : "";
  const at = "subresource" in write && write.subresource !== undefined ? `/${write.subresource}` : "";
  return sanitize(`would ${write.verb} ${write.resource}${at} ${write.name}${paths}`);
}
