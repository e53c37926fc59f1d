import type { Answer } from "./action.ts";
import type { Fault } from "./fault.ts";
import { renderXml } from "./xml.ts";

/** The services behind one address, which differ in the form of their answers. */
export type Service = "ec2" | "sts" | "elb";

/** The supported versions of their APIs. */
export const VERSIONS: Readonly<Record<Service, string>> = {
  ec2: "2016-11-15",
  sts: "2011-06-15",
  elb: "2015-12-01",
};

/** The version of classic load balancers, whose API has the same address and other answers. */
export const CLASSIC_VERSION = "2012-06-01";

/** Renders the XML document of a successful answer. */
export function renderAnswer(service: Service, action: string, answer: Answer, requestId: string): string {
  switch (service) {
    case "ec2":
      return renderXml(`${action}Response`, `http://ec2.amazonaws.com/doc/${VERSIONS.ec2}/`, {
        requestId,
        ...answer.content,
      });
    case "sts":
    case "elb":
      return renderXml(`${action}Response`, NAMESPACES[service], {
        [`${action}Result`]: answer.content,
        ResponseMetadata: { RequestId: requestId },
      });
  }
}

/** Renders the XML document of an error. */
export function renderFault(service: Service, { code, message, status }: Fault, requestId: string): string {
  switch (service) {
    case "ec2":
      return renderXml("Response", undefined, {
        Errors: { Error: { Code: code, Message: message } },
        RequestID: requestId,
      });
    case "sts":
    case "elb":
      return renderXml("ErrorResponse", NAMESPACES[service], {
        Error: { Type: status < 500 ? "Sender" : "Receiver", Code: code, Message: message },
        RequestId: requestId,
      });
  }
}

const NAMESPACES = {
  sts: `https://sts.amazonaws.com/doc/${VERSIONS.sts}/`,
  elb: `http://elasticloadbalancing.amazonaws.com/doc/${VERSIONS.elb}/`,
} as const;
