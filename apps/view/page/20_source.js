/* ---- sources: where frames come from. The page does not know which one it has. ----
 * A source has open(), send(message) and close(), and calls onmessage(object), onframe(frame) and onstate(text, bad). */

class SocketSource {
  constructor(run) {
    this.run = run;
    this.tries = 0;
    this.frames = 0;
    this.closed = false;
  }

  open() {
    const socket = new WebSocket(`ws://${location.host}/socket?run=${this.run}`, 'repose.1');
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.tries = 0;
      this.onstate('connected', false);
      this.send({ type: 'hello', version: 1 });
    };
    socket.onmessage = event => {
      try {
        if (typeof event.data === 'string')
          this.onmessage(JSON.parse(event.data));
        else /* checking a large frame costs as much as drawing it: now and then is enough to notice */
          this.onframe(readFrame(event.data, event.data.byteLength < 300000 || this.frames++ % 30 === 0));
      } catch (error) {
        this.onstate(error.message, true);
      }
    };
    socket.onclose = () => {
      if (this.closed)
        return;
      this.tries++;
      this.onstate('the server is gone; looking for it again', true);
      setTimeout(() => this.closed || this.open(), Math.min(5000, 300 * 2 ** Math.min(this.tries, 5)));
    };
  }

  send(message) {
    if (this.socket && this.socket.readyState === WebSocket.OPEN)
      this.socket.send(JSON.stringify(message));
  }

  close() {
    this.closed = true;
    if (this.socket)
      this.socket.close();
  }
}

/* Frames that are in the page itself (repose export), an element each. Colours are those that were chosen then. */
class PageSource {
  constructor(run) {
    this.run = run;
  }

  open() {
    const scene = this.scene = JSON.parse(document.getElementById('repose-scene').textContent);
    const table = document.getElementById('repose-table');
    setTimeout(() => {
      this.onstate('a page of its own, without a server', false);
      this.onmessage(scene);
      if (table)
        this.onmessage(JSON.parse(table.textContent));
    }, 0);
  }

  send(message) {
    if (message.type === 'seek') {
      const element = document.getElementById(`repose-frame-${message.frame}`);
      if (element)
        setTimeout(() => this.onframe(readFrame(decodeBase64(element.textContent.trim()), true)), 0);
    } else if (message.type === 'color' && message.field !== 'material')
      setTimeout(() => this.onmessage({ type: 'range', ...this.scene.exported }), 0);
  }

  close() {}
}

function makeSource(run) {
  return document.getElementById('repose-scene') ? new PageSource(run) : new SocketSource(run);
}
