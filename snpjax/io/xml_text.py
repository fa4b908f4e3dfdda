"""The text of an XML file as expat reads it, in bytes, and where these stand."""


class XmlText:
    """Bytes of a text, and the character of each."""

    def __init__(self, text: str):
        self.is_ascii = text.isascii()
        self.data = text.encode("utf-8", "surrogatepass")
        self._byte = self._character = 0

    def offset(self, byte: int) -> int:
        """The character offset of a byte. Places come in order, so each byte is decoded once."""
        if self.is_ascii:
            return byte
        while byte < len(self.data) and self.data[byte] & 0xC0 == 0x80:
            byte -= 1  # what is wrong may be inside a character
        if byte < self._byte:
            self._byte = self._character = 0
        self._character += len(self.data[self._byte : byte].decode("utf-8", "surrogatepass"))
        self._byte = byte
        return self._character

    def offset_of_error(self, byte: int) -> int:
        """That of where expat gave up, which may be outside of the text."""
        return self.offset(min(max(byte, 0), len(self.data)))
